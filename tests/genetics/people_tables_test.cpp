// Phenotypes and covariates of people: matching, missing values, categories, mistakes.
#include "kinflow/genetics/people_tables.h"

#include <zlib.h>

#include <cmath>
#include <limits>

#include "bed_files.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Person person(const std::string& family, const std::string& individual) {
  return {.id = {family, individual}, .father = {}, .mother = {}, .sex = 0};
}

/// F1 I1, F2 I2, ...
std::vector<Person> numbered_people(int count) {
  std::vector<Person> people;
  for (int i = 1; i <= count; ++i) {
    people.push_back(person(fmt::format("F{}", i), fmt::format("I{}", i)));
  }
  return people;
}

const std::vector<Person> kThree = numbered_people(3);

PeopleTable traits_of(const std::string& text, const PeopleTableRequest& request = {},
                      const std::vector<Person>& people = kThree) {
  DelimitedLines lines(text, "f");
  return read_traits(lines, request, people);
}

PeopleTable covariates_of(const std::string& text,
                          const PeopleTableRequest& request = {},
                          const std::vector<Person>& people = kThree) {
  DelimitedLines lines(text, "f");
  return read_covariates(lines, request, people);
}

std::string traits_error(const std::string& text,
                         const PeopleTableRequest& request = {},
                         const std::vector<Person>& people = kThree) {
  return input_error_of([&] { traits_of(text, request, people); });
}

std::string covariates_error(const std::string& text,
                             const PeopleTableRequest& request = {}) {
  return input_error_of([&] { covariates_of(text, request); });
}

/// Equal, with missing values in the same places.
void expect_same(const Numbers& found, const Numbers& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i << ": " << found[i];
    } else {
      EXPECT_EQ(found[i], expected[i]) << i;
    }
  }
}

TEST(PeopleTable, RowsFindTheirPeopleInAnyOrder) {
  const auto table =
      traits_of("FID\tIID\ta\tb\nF3\tI3\t3\t30\nF9\tI9\tx\tinf\nF1\tI1\t1\tNA\n");
  EXPECT_EQ(table.numbers.names, (Texts{"a", "b"}));
  expect_same(table.numbers.values, {1, kNone, 3, kNone, kNone, 30});
  EXPECT_EQ(table.has_row, (std::vector<char>{1, 0, 1}));
  EXPECT_EQ(table.rows, 3);
  EXPECT_EQ(table.unknown, 1);
  EXPECT_EQ(table.source, "f");
  EXPECT_TRUE(table.notes.empty());
}

TEST(PeopleTable, AllFormsOfAFileGiveTheSame) {
  const Numbers expected = {1.5, kNone, -3, 4, 5, kNone};
  for (const std::string text : {
           "FID\tIID\ta\tb\nF1\tI1\t1.5\t4\nF2\tI2\t\t5\nF3\tI3\t-3\tNA\n",
           "#FID\tIID\ta\tb\nF1\tI1\t1.5\t4\r\nF2\tI2\tnan\t5\r\nF3\tI3\t-3\t.\r\n",
           "fid,iid,a,b\nF1,I1,1.5,4\nF2,I2,,5\n\"F3\",\"I3\",-3,\n",
           "FID, IID, a, b\nF1, I1, 1.5, 4\nF2, I2, , 5\nF3, I3, -3, NaN\n",
           "##comment\n FID  IID a   b\n F1 I1 1.5 4\n\n F2 I2 . 5\nF3 I3 -3 -9",
           "#IID a b\nI1 1.5 4\nI2 NA 5\nI3 -3 NA\n",
           "IID\ta\tb\nI1\t1.5\t4\nI2\tNA\t5\nI3\t-3.0\tna\n",
           "\xef\xbb\xbf"
           "FID IID a b\n0 I1 +1.5 4e0\n0 I2 -9 5\n0 I3 -3 -9.0\n",
       }) {
    SCOPED_TRACE(text);
    const auto table = traits_of(text);
    EXPECT_EQ(table.numbers.names, (Texts{"a", "b"}));
    expect_same(table.numbers.values, expected);
  }
}

TEST(PeopleTable, ReadsPlainAndGzippedFiles) {
  const TemporaryFolder folder;
  const std::string text = "FID IID a\nF1 I1 1\nF2 I2 2\n";
  const std::string plain = folder.write("t.txt", text), zipped = folder.path("t.gz");
  gzFile file = gzopen(zipped.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  for (const auto& path : {plain, zipped}) {
    const auto table = read_traits({.path = path}, kThree);
    expect_same(table.numbers.values, {1, 2, kNone});
    EXPECT_EQ(table.source, path);
    expect_same(read_covariates({.path = path}, kThree).numbers.values, {1, 2, kNone});
  }
  EXPECT_NE(input_error_of([&] {
              read_traits({.path = folder.path("no")}, kThree);
            }).find(folder.path("no")),
            std::string::npos);
}

TEST(PeopleTable, AnIndividualIdAloneStandsForOnePerson) {
  std::vector<Person> people = {person("A", "1"), person("B", "1"), person("", "2")};
  EXPECT_EQ(
      traits_error("IID y\n2 3\n1 4\n", {}, people),
      "f:3: expected a family id with '1', which 2 people of the .fam have, found "
      "none");
  const auto table = traits_of("FID IID y\nB 1 3\n0 2 4\nC 2 5\n", {}, people);
  expect_same(table.numbers.values, {kNone, 3, 4});
  EXPECT_EQ(table.unknown, 1);
}

TEST(PeopleTable, ColumnsAreChosenByNameAndRange) {
  const std::string text = "IID PC1 x PC2 PC3 P{1:2} PC2s\nI1 1 2 3 4 5 6\n";
  const auto names = [&](const Texts& columns) {
    return traits_of(text, {.path = "", .columns = columns}).numbers.names;
  };
  EXPECT_EQ(names({"PC3", "x"}), (Texts{"PC3", "x"}));
  EXPECT_EQ(names({"PC{1:3}"}), (Texts{"PC1", "PC2", "PC3"}));
  EXPECT_EQ(names({"PC{2:2}s", "P{1:2}"}), (Texts{"PC2s", "P{1:2}"}));
  const auto error = [&](const Texts& columns) {
    return traits_error(text, {.path = "", .columns = columns});
  };
  const std::string listed = "'PC1', 'x', 'PC2', 'PC3', 'P{1:2}', 'PC2s'";
  EXPECT_EQ(error({"pc1"}), "f: expected a column 'pc1' (--pheno-name), found " +
                                listed + "; did you mean 'PC1'?");
  EXPECT_EQ(error({"PC{2:2000000000}"}),
            "f: expected a column 'PC4' (--pheno-name), found " + listed +
                "; did you mean 'PC1'?");
  EXPECT_EQ(error({"IID"}),
            "f: expected a column 'IID' (--pheno-name), found " + listed);
  EXPECT_EQ(error({"PC{3:1}"}),
            "--pheno-name: expected a range such as PC{1:10}, found 'PC{3:1}'");
  EXPECT_EQ(error({"PC{1:x}"}),
            "--pheno-name: expected a range such as PC{1:10}, found 'PC{1:x}'");
  EXPECT_EQ(error({"PC2", "PC{1:3}"}),
            "--pheno-name: expected every trait once, found 'PC2' twice");
}

TEST(PeopleTable, CellsThatAreNotAskedForMayBeAnything) {
  const auto table = traits_of("FID IID sex y\nF1 I1 male 3\nF2 I2 inf 4\n",
                               {.path = "", .columns = {"y"}});
  expect_same(table.numbers.values, {3, 4, kNone});
}

TEST(PeopleTable, MinusNineIsTakenWithCare) {
  const std::string clear = "IID y\nI1 -9\nI2 -7.9\nI3 5\n";
  const auto careful = traits_of(clear);
  expect_same(careful.numbers.values, {kNone, -7.9, 5});
  EXPECT_EQ(careful.notes, (Texts{"f: trait 'y': 1 value of -9 taken as missing"}));
  const std::string doubtful = "IID y z\nI1 1 2\nI2 -9.5 4\nI3 -9 5\n";
  const std::string message =
      "f:4: column 'y': expected -9 either as a missing value or as a number, found it "
      "beside '-9.5' in line 3; --minus-nine missing or --minus-nine value decides";
  EXPECT_EQ(traits_error(doubtful), message);
  EXPECT_EQ(covariates_error(doubtful), message);
  const auto missing =
      traits_of(doubtful, {.path = "", .minus_nine = MinusNine::missing});
  expect_same(missing.numbers.values, {1, -9.5, kNone, 2, 4, 5});
  const auto value = traits_of(doubtful, {.path = "", .minus_nine = MinusNine::value});
  expect_same(value.numbers.values, {1, -9.5, -9, 2, 4, 5});
  EXPECT_TRUE(value.notes.empty());
  for (const std::string near : {"-10", "-8", "-8.999"}) {
    traits_error(fmt::format("IID y\nI1 -9\nI2 {}\n", near));
  }
  for (const std::string far : {"-10.01", "-7.99", "9"}) {
    EXPECT_EQ(traits_of(fmt::format("IID y\nI1 -9\nI2 {}\n", far)).notes.size(), 1u);
  }
  // Values below it make it one of them.
  const std::string wide = "IID y\nI1 -9\nI2 -30\nI3 -20\nI4 -41\nI5 7\n";
  EXPECT_EQ(
      input_error_of([&] { traits_of(wide, {}, numbered_people(5)); }),
      "f:2: column 'y': expected -9 either as a missing value or as a number, "
      "found it among values below it; --minus-nine missing or --minus-nine value "
      "decides");
  // -9 and its neighbour in different columns are clear.
  expect_same(traits_of("IID y z\nI1 -9 -8\n").numbers.values,
              {kNone, kNone, kNone, -8, kNone, kNone});
}

TEST(PeopleTable, MissingValuesAreThoseOfAllTables) {
  const Texts tokens = {"NA", "N/A", "#N/A", "NaN", "null", "NULL", "None", "."};
  for (const auto& token : tokens) {
    expect_same(traits_of("IID y\nI1 1\nI2 " + token + "\n").numbers.values,
                {1, kNone, kNone});
  }
  // A category may be called none; -9.0 is -9 here too.
  const auto table = covariates_of("IID use\nI1 none\nI2 None\nI3 -9.0\n");
  EXPECT_EQ(table.categories[0].labels, (Texts{"none", "", ""}));
}

TEST(PeopleTable, AllBadColumnsAndNamesAreSaid) {
  const std::string text = "IID x y z\nI1 1 low 2\nI2 high 3 inf\n";
  EXPECT_EQ(traits_error(text),
            "f:3: column 'x': expected a number, found 'high'; also 'y' ('low' in line "
            "2), 'z' ('inf' in line 3); --pheno-name chooses columns");
  EXPECT_EQ(traits_error(text, {.path = "", .columns = {"p", "z", "q"}}),
            "f: expected columns 'p', 'q' (--pheno-name), found 'x', 'y', 'z'");
  // A comma may be part of a name.
  expect_same(
      traits_of("IID,\"w, kg\",b\nI1,1,2\n", {.path = "", .columns = {"w", "kg"}})
          .numbers.values,
      {1, kNone, kNone});
}

TEST(PeopleTable, CodesOfCasesAreNoted) {
  const auto table = traits_of("IID a b c d\nI1 0 1 0 1\nI2 1 2 2 1\nI3 NA -9 0 1\n");
  EXPECT_EQ(table.notes,
            (Texts{"f: trait 'a': has two values only and is taken as quantitative",
                   "f: trait 'b': 1 value of -9 taken as missing",
                   "f: trait 'b': has two values only and is taken as quantitative"}));
}

TEST(PeopleTable, CovariatesWithTextAreCategories) {
  const std::string text =
      "FID\tIID\tage\tsite\tcode\tmix\nF1\tI1\t30\tWest, UK\t1\t1\n"
      "F2\tI2\t-9\tNA\t-9\t2a\nF3\tI3\t50\t-9\t03\t3\n";
  const auto table = covariates_of(text, {.path = "", .categories = {"code"}});
  EXPECT_EQ(table.numbers.names, (Texts{"age"}));
  expect_same(table.numbers.values, {30, kNone, 50});
  ASSERT_EQ(table.categories.size(), 3u);
  EXPECT_EQ(table.categories[0].name, "site");
  EXPECT_EQ(table.categories[0].labels, (Texts{"West, UK", "", ""}));
  EXPECT_EQ(table.categories[1].labels, (Texts{"1", "", "03"}));
  EXPECT_EQ(table.categories[2].labels, (Texts{"1", "2a", "3"}));
  EXPECT_EQ(table.notes.back(), "f: covariate 'mix': taken as categories, 3 labels");
  const auto value = covariates_of(
      text, {.path = "", .categories = {"code"}, .minus_nine = MinusNine::value});
  EXPECT_EQ(value.categories[0].labels, (Texts{"West, UK", "", "-9"}));
  EXPECT_EQ(
      covariates_error(text, {.path = "", .columns = {"age"}, .categories = {"site"}}),
      "--cat-covar: expected covariates of --covar-name, found 'site'");
}

TEST(PeopleTable, AQuotedCellMayHoldTheDelimiter) {
  const auto table = covariates_of("IID,site\nI1,\"West, UK\"\nI2,\"a \"\"b\"\"\"\n");
  EXPECT_EQ(table.categories[0].labels, (Texts{"West, UK", "a \"b\"", ""}));
}

TEST(PeopleTable, AStrayTextBetweenManyNumbersIsAMistake) {
  std::string text = "IID age\n";
  for (int i = 1; i <= 30; ++i) {
    text += fmt::format("I{} {}\n", i, i == 17 ? "4O" : std::to_string(i));
  }
  const auto people = numbered_people(30);
  EXPECT_EQ(
      input_error_of([&] { covariates_of(text, {}, people); }),
      "f:18: column 'age': expected a number as in line 2, found '4O'; --cat-covar "
      "takes the column, with 30 labels, as categories");
  const auto table = covariates_of(text, {.path = "", .categories = {"age"}}, people);
  EXPECT_EQ(table.categories[0].labels[16], "4O");
}

TEST(PeopleTable, MistakesHaveAPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "f: expected a header and rows, found an empty file"},
      {"\n \n", "f: expected a header and rows, found an empty file"},
      {",,\n",
       "f:1: expected a header whose first columns are FID and IID, or IID "
       "alone, found a line of numbers and no header"},
      {"F1 I1 1.5 NA\n",
       "f:1: expected a header whose first columns are FID and IID, or IID alone, "
       "found "
       "a line of numbers and no header"},
      {"1 2\n",
       "f:1: expected a header whose first columns are FID and IID, or IID "
       "alone, found a line of numbers and no header"},
      {"id y\nI1 1\n",
       "f:1: expected a header whose first columns are FID and IID, or IID alone, "
       "found "
       "'id' as the first column"},
      {"FID\nF1\n", "f:1: expected the column IID after 'FID', found nothing"},
      {"FID y\nF1 1\n", "f:1: expected the column IID after 'FID', found 'y'"},
      {"IID FID y\nI1 F1 1\n",
       "f:1: expected FID and IID, or IID alone, as the first columns, found 'FID' as "
       "column 2"},
      {"FID IID\nF1 I1\n", "f:1: expected a trait beside the ids, found ids only"},
      {"IID\ty\t\nI1\t1\t2\n",
       "f:1: expected a name of UTF-8 text for column 3, found ''"},
      {"IID y x y\nI1 1 2 3\n",
       "f:1: expected columns of different names, found 'y' as columns 2 and 4"},
      {"IID y\n", "f:1: expected rows after the header, found none"},
      {"IID y\nI1 1\nI2\n", "f:3: expected 2 cells as in the header, found 1"},
      {"IID\ty\nI1\t1\nI2\t2\t\n", "f:3: expected 2 cells as in the header, found 3"},
      {"IID\ty\n\t1\n", "f:2: expected ids of UTF-8 text, found ''"},
      {"FID IID y\nF1 I1 1\nF2 I2 1\nF1 I1 2\n",
       "f:4: expected every person once, found 'F1 I1' also in line 2"},
      {"FID IID y\nF1 I1 1\n0 I1 2\n",
       "f:3: expected every person once, found 'I1' also in line 2"},
      {"FID IID y\nF9 I9 1\nF9 I9 2\n",
       "f:3: expected every person once, found 'F9 I9' also in line 2"},
      {"IID y\nI1 1\nI2 1,5\n",
       "f:3: column 'y': expected a number, found '1,5'; --pheno-name chooses columns"},
      {"IID\ty\nI1\t1\nI2\t1,5\n",
       "f:3: column 'y': expected a number, found '1,5'; --pheno-name chooses columns"},
      {"IID y\nI1 1\nI2 -inf\n",
       "f:3: column 'y': expected a number, found '-inf'; --pheno-name chooses "
       "columns"},
      {"IID y\nI1 1\nI2 1e999\n",
       "f:3: column 'y': expected a number, found '1e999'; --pheno-name chooses "
       "columns"},
      {"IID,y\nI1,1\nI2,\"2\n",
       "f:3: expected cells in whole quotes or without, found a quote that is not "
       "closed"},
      {"FID IID y\nI1 I1 1\nI2 I2 1\n",
       "f: expected people of the .fam, found none: the first id here is 'I1 I1', that "
       "of the .fam 'F1 I1'; FID and IID must both be the same, and an FID of 0, or "
       "none, leaves it to the IID"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(traits_error(text), message);
  EXPECT_EQ(
      covariates_error("IID c\nI1 1\nI2 inf\n"),
      "f:3: column 'c': expected a number, found 'inf'; --covar-name chooses columns");
  EXPECT_EQ(covariates_error("IID c\nI1 a\nI2 \x01\n"),
            "f: column 'c': expected labels of UTF-8 text, found '\\x01'");
}

/// People of whom a third each has no value of one trait or no covariate.
struct Gappy {
  std::vector<Person> people = numbered_people(40);
  PeopleTable traits, covariates;

  Gappy() {
    std::string pheno = "IID a b\n", covar = "IID age site\n";
    for (int i = 1; i <= 40; ++i) {
      if (i != 40) {
        pheno += fmt::format("I{} {} {}\n", i, i % 8 == 0 ? "NA" : std::to_string(i),
                             i % 10 == 0 ? "NA" : std::to_string(i % 7));
      }
      if (i != 1) {
        covar += fmt::format("I{} {} {}\n", i, i % 12 == 0 ? "NA" : std::to_string(i),
                             i == 2       ? "NA"
                             : i % 3 == 0 ? "x"
                             : i < 10     ? "z"
                                          : "y");
      }
    }
    traits = traits_of(pheno, {}, people);
    covariates = covariates_of(covar, {}, people);
  }
};

TEST(CompletePeople, CountsEveryStep) {
  const Gappy data;
  std::vector<std::int64_t> candidates;
  for (std::int64_t i = 0; i < 40; ++i) {
    if (i != 4) candidates.push_back(i);
  }
  const auto analysed = complete_people(candidates, data.traits, &data.covariates);
  // Without I40 and I1; 8 16 24 32 lack a, 10 20 30 lack b, 12 24 36 and 2 a covariate.
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 2; i < 40; ++i) {
    if (i == 2 || i == 5 || i % 8 == 0 || i % 10 == 0 || i % 12 == 0) continue;
    expected.push_back(i - 1);
  }
  EXPECT_EQ(analysed.people, expected);
  ASSERT_EQ(analysed.steps.size(), 4u);
  const auto step = [&](std::size_t i) {
    return fmt::format("{} -{} {}", analysed.steps[i].filter, analysed.steps[i].removed,
                       analysed.steps[i].left);
  };
  EXPECT_EQ(step(0), "in the phenotype table -1 38");
  EXPECT_EQ(step(1), "in the covariate table -1 37");
  EXPECT_EQ(step(2), "complete in traits -7 30");
  EXPECT_EQ(step(3), "complete in covariates -3 27");
  EXPECT_EQ(analysed.missing_of_trait, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(analysed.missing_of_covariate, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(analysed.lost_to_trait, (std::vector<std::int64_t>{3, 3}));
  for (std::size_t trait = 0; trait < 2; ++trait) {
    auto others = data.traits;
    others.numbers.names.erase(others.numbers.names.begin() +
                               static_cast<std::ptrdiff_t>(trait));
    const auto first =
        others.numbers.values.begin() + static_cast<std::ptrdiff_t>(40 * trait);
    others.numbers.values.erase(first, first + 40);
    const auto without = complete_people(candidates, others, &data.covariates);
    EXPECT_EQ(static_cast<std::int64_t>(without.people.size() - analysed.people.size()),
              analysed.lost_to_trait[trait]);
  }
}

TEST(CompletePeople, CategoriesBecomeIndicatorsOfAllButTheMostFrequentLabel) {
  const Gappy data;
  std::vector<std::int64_t> candidates(40);
  for (std::int64_t i = 0; i < 40; ++i) candidates[static_cast<std::size_t>(i)] = i;
  const auto analysed = complete_people(candidates, data.traits, &data.covariates);
  EXPECT_EQ(analysed.traits.names, (Texts{"a", "b"}));
  EXPECT_EQ(analysed.covariates.names, (Texts{"age", "site=x", "site=z"}));
  const std::size_t n = analysed.people.size();
  ASSERT_EQ(analysed.covariates.values.size(), 3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t number = analysed.people[i] + 1;
    EXPECT_EQ(analysed.traits.values[i], static_cast<double>(number));
    EXPECT_EQ(analysed.traits.values[n + i], static_cast<double>(number % 7));
    EXPECT_EQ(analysed.covariates.values[i], static_cast<double>(number));
    EXPECT_EQ(analysed.covariates.values[n + i], number % 3 == 0);
    EXPECT_EQ(analysed.covariates.values[2 * n + i], number % 3 != 0 && number < 10);
  }
}

TEST(CompletePeople, NeedsNoCovariates) {
  const Gappy data;
  const std::vector<std::int64_t> candidates = {0, 1, 2, 3, 4, 5, 6, 8, 10, 11, 12};
  const auto analysed = complete_people(candidates, data.traits, nullptr);
  EXPECT_EQ(analysed.people, candidates);
  EXPECT_EQ(analysed.steps.size(), 2u);
  EXPECT_TRUE(analysed.covariates.names.empty());
  EXPECT_TRUE(analysed.missing_of_covariate.empty());
}

TEST(CompletePeople, TooFewPeopleAreToldWithAllCounts) {
  const Gappy data;
  const std::vector<std::int64_t> candidates = {0, 1, 2, 7, 15, 23, 29, 39, 4};
  EXPECT_EQ(
      input_error_of(
          [&] { complete_people(candidates, data.traits, &data.covariates); }),
      "f: expected at least 10 people with all traits and covariates, found 2 (9 "
      "candidates, 8 in the phenotype table, 7 in the covariate table, 3 complete "
      "in traits, 2 complete in covariates); trait 'a' costs most, 2 people with "
      "all else");
}

TEST(CompletePeople, ATraitNeedsDifferentValues) {
  const auto people = numbered_people(12);
  const std::vector<std::int64_t> candidates = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto with = [&](const std::string& first, const std::string& others) {
    std::string text = "IID y\n";
    for (int i = 1; i <= 12; ++i) {
      text += fmt::format("I{} {}\n", i, i == 1 ? first : others);
    }
    return traits_of(text, {}, people);
  };
  EXPECT_EQ(
      input_error_of([&] { complete_people(candidates, with("3", "3"), nullptr); }),
      "f: trait 'y': expected at least three different values among the 12 people "
      "with all traits and covariates, found 3");
  EXPECT_EQ(
      input_error_of([&] { complete_people(candidates, with("3", "1.5"), nullptr); }),
      "f: trait 'y': expected at least three different values among the 12 people with "
      "all traits and covariates, found 1.5 and 3");
  EXPECT_EQ(complete_people(candidates, with("2", "1"), nullptr).people, candidates);
}

// ---- plink2

TEST(PeopleTable, ReadsWhatPlink2Reads) {
  if (!has_tool("plink2")) GTEST_SKIP() << "plink2 is not installed";
  const TemporaryFolder folder;
  const auto content = random_content(60, 4, 3, {"1"});
  write_bed(folder, "g", content);
  Random random(5);
  std::string text = "#FID\tIID\ty\tz\n";
  for (int i = 70; i-- > 2;) {
    const auto cell = [&](int k) {
      return (i + k) % 9 == 0    ? std::string("-9")
             : (i + k) % 11 == 0 ? std::string("NA")
                                 : fmt::format("{}", random.normal());
    };
    text += fmt::format("F{}\tI{}\t{}\t{}\n", i / 5, i, cell(0), cell(4));
  }
  const std::string path = folder.write("p.tsv", text);
  ASSERT_TRUE(run_in(folder,
                     "plink2 --bfile g --pheno p.tsv --make-just-psam "
                     "--out o"));
  const auto table = read_traits({.path = path}, content.people);
  EXPECT_EQ(table.rows, 68);
  EXPECT_EQ(table.unknown, 10);
  const auto again = read_traits({.path = folder.path("o.psam"), .columns = {"y", "z"}},
                                 content.people);
  ASSERT_EQ(again.numbers.values.size(), table.numbers.values.size());
  for (std::size_t i = 0; i < table.numbers.values.size(); ++i) {
    const double ours = table.numbers.values[i], theirs = again.numbers.values[i];
    EXPECT_TRUE(std::isnan(ours) ? std::isnan(theirs)
                                 : std::abs(ours - theirs) < 1e-5 * std::abs(ours))
        << i << ": " << ours << " and " << theirs;
  }
}

}  // namespace
}  // namespace kinflow
