// X, Y, MT, contigs and files of other tools through the real binary.
#include <fmt/format.h>

#include <functional>

#include "gwas_cohort.h"
#include "kinflow/data/read_relationship.h"

namespace kinflow::cli {
namespace {

namespace fs = std::filesystem;

/// 120 people with a trait and 120 variants of given chromosomes, of which males are
/// heterozygous at X and Y as often as others.
class GwasChromosomes : public testing::Test {
 protected:
  explicit GwasChromosomes(const std::vector<std::string>& chromosomes = {"1", "2",
                                                                          "X"})
      : content_(random_content(120, 120, 17, chromosomes)) {
    Random random(3);
    std::string pheno = "FID\tIID\ty\n", k;
    for (const auto& person : content_.people) {
      pheno += fmt::format("{}\t{}\t{}\n", person.id.family, person.id.individual,
                           random.normal());
    }
    folder_.write("p.tsv", pheno);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  Arguments gwas(const std::string& bfile, const Arguments& more = {}) const {
    return Arguments{"gwas",        "--bfile",     bfile,  "--pheno",
                     path("p.tsv"), "--out",       bfile,  "--threads",
                     "1",           "--transform", "none", "--overwrite"} +
           more;
  }
  int sex(std::size_t person) const { return content_.people[person].sex; }
  /// The rows of variants of one chromosome in a table of tests.
  std::vector<Association> rows(const std::string& bfile,
                                const std::string& chromosome) const {
    std::vector<Association> found;
    for (auto& row : associations(bfile + ".assoc.tsv")) {
      if (row.chromosome == chromosome) found.push_back(row);
    }
    return found;
  }
  /// A table with the sex of the .fam, of which the unknown ones are the mean.
  std::string write_sex() const {
    double sum = 0, known = 0;
    for (const auto& person : content_.people) {
      sum += person.sex;
      known += person.sex != kUnknownSex;
    }
    std::string covar = "FID\tIID\tmale_or_female\n";
    for (const auto& person : content_.people) {
      covar += fmt::format("{}\t{}\t{}\n", person.id.family, person.id.individual,
                           person.sex == kUnknownSex ? sum / known : person.sex);
    }
    return folder_.write("c.tsv", covar);
  }
  /// Expects the tests of a chromosome to be those of autosome 3 whose genotypes are
  /// changed by hand, by change(person, count).
  template <typename Change>
  void expect_tests_of(const std::string& chromosome, const Change& change) {
    const auto own = write_bed(folder_, "own", content_);
    auto other = content_;
    for (std::size_t v = 0; v < other.variants.size(); ++v) {
      if (other.variants[v].chromosome != chromosome) continue;
      other.variants[v].chromosome = "3";
      for (std::size_t i = 0; i < other.people.size(); ++i) {
        auto& count = other.counts[v][i];
        count = change(i, count);
      }
    }
    const auto changed = write_bed(folder_, "changed", other);
    run_well({"grm", "--bfile", own, "--out", path("k"), "--overwrite"});
    const Arguments same = {"--grm", path("k"), "--covar", write_sex()};
    outcome_ = run(gwas(own, same));
    EXPECT_EQ(outcome_.exit_code, 0) << outcome_.err;
    run_well(gwas(changed, same));
    const auto found = rows(own, chromosome), expected = rows(changed, "3");
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_GT(found.size(), 0U);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].people, expected[i].people);
      EXPECT_EQ(std::isnan(found[i].p), std::isnan(expected[i].p));
      if (std::isnan(found[i].p)) continue;
      EXPECT_EQ(found[i].log10_p, expected[i].log10_p) << i;
      EXPECT_EQ(found[i].effects, expected[i].effects) << i;
    }
  }
  /// Calls of one chromosome for which counts(person, call).
  template <typename Counts>
  std::int64_t calls(const std::string& chromosome, const Counts& counts) const {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < content_.variants.size(); ++v) {
      if (content_.variants[v].chromosome != chromosome) continue;
      for (std::size_t i = 0; i < content_.people.size(); ++i) {
        sum += counts(i, content_.counts[v][i]);
      }
    }
    return sum;
  }
  void expect_warned(const std::string& text) const {
    EXPECT_NE(outcome_.err.find(text), std::string::npos) << text << "\n"
                                                          << outcome_.err;
  }

  TemporaryFolder folder_;
  BedContent content_;
  Outcome outcome_;
};

constexpr std::int8_t kNone = kMissingGenotype;

TEST_F(GwasChromosomes, OfOneSexHaveNoSexAsCovariate) {
  auto content = content_;
  for (auto& person : content.people) person.sex = kFemale;
  const auto women = write_bed(folder_, "women", content);
  const auto outcome = run(gwas(women));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("as one more covariate"), std::string::npos)
      << outcome.err;
  EXPECT_GT(rows(women, "X").size(), 0U);
}

TEST_F(GwasChromosomes, SexIsReadAsALetterOrAWordToo) {
  const auto numbers = write_bed(folder_, "numbers", content_);
  const auto letters = write_bed(folder_, "letters", content_);
  const auto with_sex = [&](const std::function<std::string(int)>& text) {
    std::string fam;
    for (const auto& person : content_.people) {
      fam += fmt::format("{} {} 0 0 {} -9\n", person.id.family, person.id.individual,
                         text(person.sex));
    }
    folder_.write("letters.fam", fam);
  };
  with_sex([](int sex) {
    return sex == kMale ? "M" : sex == kFemale ? "female" : "NA";
  });
  run_well(gwas(numbers));
  run_well(gwas(letters));
  const auto found = rows(letters, "X"), expected = rows(numbers, "X");
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_GT(found.size(), 0U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].people, expected[i].people);
    EXPECT_EQ(found[i].effects, expected[i].effects);
  }
}

TEST_F(GwasChromosomes, RunningNumbersAreNoTraitsUnlessNamed) {
  const auto bfile = write_bed(folder_, "own", content_);
  std::string pheno = "FID\tIID\trow\ty\n";
  Random random(3);
  for (std::size_t i = 0; i < content_.people.size(); ++i) {
    const auto& id = content_.people[i].id;
    pheno +=
        fmt::format("{}\t{}\t{}\t{}\n", id.family, id.individual, i, random.normal());
  }
  folder_.write("p.tsv", pheno);
  expect_refusal(folder_, gwas(bfile),
                 {"what looks like labels of rows: 'row'", "--pheno-name y"});
  run_well(gwas(bfile, {"--pheno-name", "row,y"}));
}

TEST_F(GwasChromosomes, ManyCovariatesAndCodesAmongThemAreSaid) {
  const auto bfile = write_bed(folder_, "own", content_);
  const auto outcome_with = [&](int columns, const Arguments& more = {}) {
    Random random(5);
    std::string covar = "FID\tIID", line;
    for (int j = 0; j < columns; ++j) covar += fmt::format("\tc{}", j);
    covar += "\n";
    for (std::size_t i = 0; i < content_.people.size(); ++i) {
      const auto& id = content_.people[i].id;
      covar += id.family + "\t" + id.individual;
      for (int j = 0; j < columns; ++j) {
        covar += fmt::format("\t{}", i == 7 && j == 0 ? 9999 : random.normal());
      }
      covar += "\n";
    }
    return run(
        gwas(bfile, Arguments{"--covar", folder_.write("many.tsv", covar)} + more));
  };
  const std::string inflated = "of the score test come out 1.12 times too large";
  outcome_ = outcome_with(12);
  EXPECT_EQ(outcome_.exit_code, 0) << outcome_.err;
  expect_warned("12 covariate columns for 120 people");
  expect_warned(inflated);
  expect_warned("column 'c0': 9999 lies far from all other values");
  for (const auto& outcome : {outcome_with(3), outcome_with(12, {"--test", "wald"})}) {
    EXPECT_EQ(outcome.err.find("times too large"), std::string::npos) << outcome.err;
  }
}

TEST_F(GwasChromosomes, HeterozygousMalesOfXAreMissingAndCounted) {
  expect_tests_of("X", [&](std::size_t i, std::int8_t count) {
    return sex(i) == kMale && count == 1 ? kNone : count;
  });
  const auto impossible = calls(
      "X", [&](std::size_t i, int count) { return sex(i) == kMale && count == 1; });
  EXPECT_GT(impossible, 100);
  expect_warned(
      fmt::format("{} heterozygous calls of males in 40 variants of X", impossible));
}

TEST_F(GwasChromosomes, PeopleOfUnknownSexAreLeftOutOnX) {
  for (std::size_t i = 0; i < 120; i += 10) content_.people[i].sex = kUnknownSex;
  expect_tests_of("X", [&](std::size_t i, std::int8_t count) {
    return sex(i) == kUnknownSex || (sex(i) == kMale && count == 1) ? kNone : count;
  });
  expect_warned("12 of 120 people have no sex in");
  expect_warned("left out at the 40 variants of X and Y");
}

TEST_F(GwasChromosomes, SexIsACovariateOfX) {
  content_.people[10].sex = kUnknownSex;
  const auto own = write_bed(folder_, "own", content_);
  outcome_ = run(gwas(own));
  EXPECT_EQ(outcome_.exit_code, 0) << outcome_.err;
  expect_warned("40 variants of X are tested with the sex of");
  const auto of_x = rows(own, "X"), of_second = rows(own, "2");
  const auto null = rows_of(own + ".null.tsv");
  ASSERT_EQ(null.size(), 3U);
  EXPECT_EQ(null[0][1], "ADDED");
  EXPECT_EQ(null[1][1], "none");
  EXPECT_EQ(null[2][1], "sex");

  outcome_ = run(gwas(own, {"--covar", write_sex()}));
  EXPECT_EQ(outcome_.err.find("one more covariate"), std::string::npos) << outcome_.err;
  EXPECT_EQ(rows_of(own + ".null.tsv").size(), 2U);
  const auto given = rows(own, "X");
  ASSERT_EQ(of_x.size(), given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::isnan(given[i].p)) continue;
    EXPECT_NEAR(of_x[i].log10_p, given[i].log10_p, 1e-6) << i;
  }

  run_well(gwas(own, {"--chr", "1-2"}));
  const auto alone = rows(own, "2");
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_TRUE(alone[i].log10_p == of_second[i].log10_p || std::isnan(alone[i].p))
        << i;
  }
}

TEST_F(GwasChromosomes, ATraitThatDiffersBySexIsNotAssociatedWithX) {
  // Males and females have other frequencies, as chance or errors of calls make them.
  std::string pheno = "FID\tIID\ty\n";
  Random random(8);
  for (std::size_t i = 0; i < content_.people.size(); ++i) {
    const auto& id = content_.people[i].id;
    pheno += fmt::format("{}\t{}\t{}\n", id.family, id.individual,
                         5 * sex(i) + random.normal());
    for (std::size_t v = 80; v < 120; ++v) {
      const double share = sex(i) == kMale ? 0.2 : 0.5;
      const bool first = random.uniform() < share, second = random.uniform() < share;
      content_.counts[v][i] =
          static_cast<std::int8_t>(sex(i) == kMale ? 2 * first : first + second);
    }
  }
  folder_.write("p.tsv", pheno);
  const auto own = write_bed(folder_, "own", content_);
  run_well(gwas(own));
  for (const auto& row : rows(own, "X")) EXPECT_GT(row.p, 1e-5) << row.id;
}

TEST_F(GwasChromosomes, AutosomesHaveNoSex) {
  const auto own = write_bed(folder_, "own", content_);
  run_well(gwas(own, {"--chr", "1-2"}));
  const auto before = content_of(path("own.assoc.tsv"));
  for (auto& person : content_.people) person.sex = kUnknownSex;
  write_bed(folder_, "own", content_);
  const auto outcome = run(gwas(own, {"--chr", "1-2"}));
  EXPECT_EQ(content_of(path("own.assoc.tsv")), before);
  EXPECT_EQ(outcome.err.find("sex"), std::string::npos) << outcome.err;
}

class GwasOfYAndMt : public GwasChromosomes {
 protected:
  GwasOfYAndMt() : GwasChromosomes({"1", "2", "Y", "MT"}) {}
};

TEST_F(GwasOfYAndMt, OnlyMalesHaveY) {
  expect_tests_of("Y", [&](std::size_t i, std::int8_t count) {
    return sex(i) != kMale || count == 1 ? kNone : count;
  });
  expect_warned(fmt::format("{} calls of people who are not male in Y",
                            calls("Y", [&](std::size_t i, int count) {
                              return sex(i) != kMale && count != kNone;
                            })));
  expect_warned(fmt::format("{} heterozygous calls of males in Y",
                            calls("Y", [&](std::size_t i, int count) {
                              return sex(i) == kMale && count == 1;
                            })));
  expect_warned(
      fmt::format("{} mixed calls in MT count as half",
                  calls("MT", [](std::size_t, int count) { return count == 1; })));
}

TEST_F(GwasOfYAndMt, MixedCallsOfMtStay) {
  expect_tests_of("MT", [](std::size_t, std::int8_t count) { return count; });
}

TEST_F(GwasChromosomes, FrequenciesAndCallsAreThoseOfPlink) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  const auto own = write_bed(folder_, "own", content_);
  ASSERT_TRUE(run_in(folder_,
                     "plink1.9 --bfile own --freq --nonfounders --keep-allele-order "
                     "--allow-no-sex --out plink"));
  outcome_ = run(gwas(own));
  expect_warned(
      fmt::format("{} heterozygous calls of males", lines_in(path("plink.hh"))));
  std::istringstream lines(content_of(path("plink.frq")));
  std::string line;
  std::getline(lines, line);
  for (const auto& row : associations(own + ".assoc.tsv")) {
    std::getline(lines, line);
    std::string chromosome, id, a1, a2, frequency;
    std::istringstream(line) >> chromosome >> id >> a1 >> a2 >> frequency;
    ASSERT_EQ(row.id, id);
    EXPECT_NEAR(row.a1_frequency, std::stod(frequency), 5.1e-5) << line;
  }
}

TEST_F(GwasChromosomes, TestsOfXAreThoseOfPlink) {
  if (!has_tool("plink2")) GTEST_SKIP() << "plink2 is not installed";
  // Of people who are not related, with all genotypes, by linear regression.
  for (std::size_t v = 0; v < content_.counts.size(); ++v) {
    for (std::size_t i = 0; i < content_.people.size(); ++i) {
      auto& count = content_.counts[v][i];
      count = std::max<std::int8_t>(count, 0);
      if (sex(i) == kMale && v >= 80 && count == 1) count = 2;
    }
  }
  const auto own = write_bed(folder_, "own", content_);
  std::string k;
  for (std::size_t i = 0; i < content_.people.size(); ++i) {
    for (std::size_t j = 0; j < content_.people.size(); ++j) k += i == j ? "1 " : "0 ";
    k += '\n';
  }
  folder_.write("k.txt", k);
  ASSERT_TRUE(run_in(folder_,
                     "plink2 --bfile own --pheno p.tsv --chr X --glm hide-covar "
                     "allow-no-covars --out plink"));
  run_well(gwas(own, {"--chr", "X", "--relationship", path("k.txt"),
                      "--relationship-by-position", "--test", "wald"}));
  const auto found = associations(own + ".assoc.tsv"),
             expected = associations(path("plink.y.glm.linear"));
  ASSERT_EQ(found.size(), expected.size());
  int tested = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].id, expected[i].id);
    if (std::isnan(expected[i].p)) continue;
    EXPECT_NEAR(found[i].log10_p, expected[i].log10_p, 1e-3) << found[i].id;
    ++tested;
  }
  EXPECT_GT(tested, 30);
}

// ---- contigs

class GwasOfContigs : public GwasChromosomes {
 protected:
  /// Chromosomes 1 and 2, or only contigs, and 118 contigs of a variant each.
  std::string write(const std::string& name, bool with_chromosomes) {
    for (std::size_t v = 0; v < content_.variants.size(); ++v) {
      content_.variants[v].chromosome = with_chromosomes && v < 40
                                            ? std::to_string(1 + v / 20)
                                            : fmt::format("scaffold_{}", v);
    }
    return write_bed(folder_, name, content_);
  }
};

TEST_F(GwasOfContigs, HaveNoPartInARelationship) {
  const auto own = write("own", true);
  const auto out = run_well({"grm", "--bfile", own, "--out", path("k"), "--overwrite"});
  EXPECT_NE(out.find("X, Y, MT and other names"), std::string::npos) << out;
  run_well({"grm", "--bfile", own, "--chr", "1-2", "--out", path("of_chromosomes"),
            "--overwrite"});
  EXPECT_EQ(content_of(path("k.grm.bin")), content_of(path("of_chromosomes.grm.bin")));
  run_well({"grm", "--bfile", own, "--allow-extra-chr", "--out", path("of_all"),
            "--overwrite"});
  EXPECT_NE(content_of(path("k.grm.bin")), content_of(path("of_all.grm.bin")));
}

TEST_F(GwasOfContigs, AreLeftOutTogetherOrNotAtAll) {
  const auto own = write("own", true);
  run_well(gwas(own, {"--loco"}));
  const auto null = rows_of(own + ".null.tsv");
  ASSERT_EQ(null.size(), 4U);
  EXPECT_EQ(null[1].front(), "1");
  EXPECT_EQ(null[2].front(), "2");
  EXPECT_EQ(null[3].front(), "none");
  EXPECT_EQ(associations(own + ".assoc.tsv").size(), 120U);
  // The same from files: contigs take the matrix of all autosomes.
  const auto computed = p_of(own + ".assoc.tsv");
  run_well({"grm", "--bfile", own, "--loco", "--out", path("k"), "--overwrite"});
  run_well({"grm", "--bfile", own, "--out", path("k"), "--overwrite"});
  run_well(gwas(own, {"--loco", "--grm", path("k")}));
  expect_same_p(p_of(own + ".assoc.tsv"), computed, 1e-4);
}

TEST_F(GwasOfContigs, ManyCannotBeLeftOutOneByOne) {
  const auto own = write("own", false);
  expect_refusal(folder_, gwas(own, {"--loco", "--allow-extra-chr"}),
                 {"own.bim", "at most 95 chromosomes", "--loco", "found 120",
                  "'scaffold_119'", "--allow-extra-chr"});
  expect_refusal(folder_,
                 {"grm", "--bfile", own, "--loco", "--allow-extra-chr", "--out",
                  path("k"), "--overwrite"},
                 {"own.bim", "at most 95 chromosomes", "found 120"});
}

TEST_F(GwasOfContigs, AloneNeedToBeCalledAutosomes) {
  const auto own = write("own", false);
  for (const std::string verb : {"grm", "gwas"}) {
    const auto arguments =
        verb == "gwas" ? gwas(own) : Arguments{"grm",   "--bfile", own,
                                               "--out", path("k"), "--overwrite"};
    expect_refusal(folder_, arguments,
                   {"own.bim", "autosomes (1 to 22)", "'scaffold_0'", "--chr-set",
                    "--allow-extra-chr"});
  }
  run_well(gwas(own, {"--allow-extra-chr"}));
}

// ---- names of files

TEST_F(GwasChromosomes, AFileOfThePrefixStandsForIt) {
  const auto own = write_bed(folder_, "own", content_);
  for (const std::string ending : {"", ".bed", ".bim", ".fam"}) {
    run_well(
        {"grm", "--bfile", own + ending, "--out", path("k" + ending), "--overwrite"});
    EXPECT_EQ(content_of(path("k" + ending + ".grm.bin")),
              content_of(path("k.grm.bin")));
  }
  run_well({"gwas", "--bfile", own + ".bed", "--pheno", path("p.tsv"), "--transform",
            "none", "--out", path("own")});
  run_well({"clump", path("own.assoc.tsv"), "--bfile", own + ".bed", "--out",
            path("clumped")});
}

TEST_F(GwasChromosomes, OtherFormatsAreRefusedWithTheCommandThatConvertsThem) {
  for (const auto& [file, command] :
       {std::pair{"g.vcf.gz", "plink2 --vcf {}.vcf.gz --make-bed --out {}"},
        std::pair{"g.vcf", "plink2 --vcf {}.vcf --make-bed --out {}"},
        std::pair{"g.bcf", "plink2 --bcf {}.bcf --make-bed --out {}"},
        std::pair{"g.pgen", "plink2 --pfile {} --make-bed --out {}"},
        std::pair{"g.bgen", "plink2 --bgen {}.bgen ref-first --sample"}}) {
    const auto expected = fmt::format(fmt::runtime(command), path("g"), path("g"));
    folder_.write(file, "not looked at");
    for (const auto& given : {path(file), path("g")}) {
      expect_refusal(folder_,
                     {"grm", "--bfile", given, "--out", path("k"), "--overwrite"},
                     {expected});
      expect_refusal(
          folder_,
          {"gwas", "--bfile", given, "--pheno", path("p.tsv"), "--out", path("k")},
          {expected});
    }
    fs::remove(path(file));
  }
}

TEST_F(GwasChromosomes, AFamMayHaveMorePhenotypes) {
  const auto own = write_bed(folder_, "own", content_);
  run_well({"grm", "--bfile", own, "--out", path("k"), "--overwrite"});
  const auto before = content_of(path("k.grm.bin"));
  std::string fam;
  std::istringstream lines(content_of(path("own.fam")));
  for (std::string line; std::getline(lines, line);) fam += line + " 1.5 NA\n";
  folder_.write("own.fam", fam);
  run_well({"grm", "--bfile", own, "--out", path("k"), "--overwrite"});
  EXPECT_EQ(content_of(path("k.grm.bin")), before);
  folder_.write("own.fam", fam.substr(0, fam.size() - 4) + "\n");
  expect_refusal(folder_, {"grm", "--bfile", own, "--out", path("k"), "--overwrite"},
                 {"own.fam:120", "expected 8 columns as in the first line, found 7"});
}

}  // namespace
}  // namespace kinflow::cli
