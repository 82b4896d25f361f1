// Association studies through the real binary: files and numbers.
#include <regex>

#include "gwas_cohort.h"

namespace kinflow::cli {
namespace {

namespace fs = std::filesystem;

TEST_F(Gwas, WritesFilesThatAgreeWithEachOther) {
  const auto arguments = cohort_.gwas(
      path("a"), "trait1,trait2",
      cohort_.covariates() + kPlain +
          Arguments{"--p1", "0.01", "--maf", "0.1", "--single", "--threads", "2"});
  const auto out = run_well(arguments);
  const auto rows = associations(path("a.assoc.tsv"));
  const auto people = lines_in(path("a.id"));
  EXPECT_NE(out.find(std::to_string(rows.size())), out.npos);
  EXPECT_LT(rows.size(), 500U);
  EXPECT_LT(people, 300U);
  for (const auto& row : rows) {
    EXPECT_LE(row.people, static_cast<std::int64_t>(people));
    EXPECT_GE(row.a1_frequency, 0);
    EXPECT_LE(row.a1_frequency, 1);
  }
  EXPECT_EQ(lines_in(path("a.pheno")), people + 1);
  const auto pheno = rows_of(path("a.pheno"));
  EXPECT_EQ(pheno.front(),
            (std::vector<std::string>{"#FID", "IID", "trait1", "trait2"}));
  const auto null = rows_of(path("a.null.tsv"));
  ASSERT_EQ(null.size(), 4U);  // the joint model, and one for each trait
  EXPECT_EQ(null[0].front(), "LEFT_OUT");
  for (std::size_t i = 1; i < null.size(); ++i) {
    EXPECT_EQ(null[i].front(), "none");
    EXPECT_EQ(null[i].back(), "yes");
  }
  ASSERT_EQ(null[0][7], "H2");
  for (const auto& [row, trait] :
       {std::pair{1, "trait1"}, {2, "trait1"}, {3, "trait2"}}) {
    const auto h2 = std::stod(null[static_cast<std::size_t>(row)][7]);
    EXPECT_GT(h2, 0.01);
    EXPECT_LT(h2, 0.99);
    EXPECT_NE(out.find(fmt::format("{} {:.3f}", trait, h2)), out.npos) << out;
  }
  for (const std::string set : {"a", "a.single"}) {
    for (const std::string ending : {".manhattan.png", ".qq.png"}) {
      EXPECT_EQ(content_of(path(set + ending)).substr(1, 3), "PNG") << set << ending;
    }
    run_well({"clump", path(set + ".assoc.tsv"), "--bfile", cohort_.bfile, "--p1",
              "0.01", "--out", path("clumped"), "--overwrite"});
    EXPECT_EQ(content_of(path(set + ".loci.tsv")),
              content_of(path("clumped.loci.tsv")));
    EXPECT_GT(lines_in(path(set + ".loci.tsv")), 1U);
  }
  const auto log = content_of(path("a.log"));
  for (const std::string text :
       {"Options in effect:", "--pheno-name trait1,trait2", "--maf 0.1", "--single",
        "Start time", "people in the files", "complete in traits",
        "variants in the files", "lost to it alone", "trait2", "mean diagonal",
        "inflation", "Finished.", "End time"}) {
    EXPECT_NE(log.find(text), log.npos) << text << "\n" << log;
  }
  EXPECT_FALSE(fs::exists(path("a.partial")));
  EXPECT_FALSE(fs::exists(path("a.model")));
}

TEST_F(Gwas, TimeLeftIsNotAnnouncedBeforeItIsKnown) {
  const auto outcome =
      run(cohort_.gwas(path("a"), "trait1", kPlain + Arguments{"--loco"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::regex announced("gwas: variant .*[0-9]:[0-9]+ left");
  EXPECT_NE(outcome.err.find("gwas: variant "), outcome.err.npos) << outcome.err;
  EXPECT_FALSE(std::regex_search(outcome.err, announced)) << outcome.err;
}

// The program itself takes more than a matrix of 300 people.
TEST_F(Gwas, TheMemoryThatIsAnnouncedIsThatOfTheProcess) {
  const auto outcome = run(cohort_.gwas(path("o"), "trait1", kRanks));
  const std::string kStart = "needs about ";
  const auto start = outcome.err.find(kStart);
  ASSERT_NE(start, std::string::npos) << outcome.err;
  const auto megabytes = outcome.err.substr(start + kStart.size());
  EXPECT_NE(megabytes.find(" MB of memory"), std::string::npos) << outcome.err;
  EXPECT_GE(std::stod(megabytes), 12) << outcome.err;
}

TEST_F(Gwas, DoesNotDependOnThreads) {
  for (const std::string threads : {"1", "2"}) {
    const auto name = "t" + threads;
    run_well(cohort_.gwas(path(name), "trait1,trait2,trait3",
                          cohort_.covariates() + kRanks +
                              Arguments{"--single", "--loco", "--threads", threads}));
    run_well(cohort_.gwas(path("flow" + threads), "trait1,trait2",
                          small_flow() + Arguments{"--threads", threads}));
  }
  const auto one = results(folder_, "t1"), two = results(folder_, "t2");
  EXPECT_EQ(one.size(), 11U);
  for (const auto& [ending, content] : one) {
    EXPECT_TRUE(content == two.at(ending)) << ending;
  }
  expect_same_p(p("flow1"), p("flow2"), 1e-6);
}

TEST_F(Gwas, TablesMayHaveAnyOrderAndForm) {
  const auto expected = study("a", "trait1,trait2", cohort_.covariates() + kPlain);
  auto pheno = rows_of(cohort_.pheno), covar = rows_of(cohort_.covar);
  std::reverse(pheno.begin() + 1, pheno.end());
  std::rotate(covar.begin() + 1, covar.begin() + 70, covar.end());
  pheno.front()[0] = "#FID";
  pheno.push_back({"nobody", "here", "1", "2", "3", "4", "5", "6"});
  for (const std::string separator : {" ", ",", "\t"}) {
    const auto traits = folder_.write("p.txt", joined(pheno, separator));
    const auto covariates = folder_.write("c.txt", joined(covar, separator));
    ASSERT_TRUE(run_in(folder_, "gzip -kf p.txt"));
    for (const auto& file : {traits, traits + ".gz"}) {
      run_well(Arguments{"gwas", "--bfile", cohort_.bfile, "--pheno", file,
                         "--pheno-name", "trait1,trait2", "--covar", covariates,
                         "--out", path("b")} +
               kPlain + kOverwrite);
      EXPECT_EQ(p("b"), expected) << separator << file;
    }
  }
}

TEST_F(Gwas, TakesCategories) {
  auto covar = rows_of(cohort_.covar);
  covar.front() = {"FID",   "IID",   "age", "site", "code",
                   "north", "south", "two", "three"};
  for (std::size_t i = 1; i < covar.size(); ++i) {
    const auto site = i % 5 < 2 ? "north" : i % 5 == 2 ? "south" : "east";
    const auto code = std::to_string(1 + i % 7 / 3);
    covar[i] = {covar[i][0], covar[i][1], covar[i][2], site, code};
    for (const std::string name : {"north", "south"}) {
      covar[i].push_back(site == name ? "1" : "0");
    }
    for (const std::string name : {"2", "3"}) {
      covar[i].push_back(code == name ? "1" : "0");
    }
  }
  folder_.write("c.tsv", joined(covar));
  const Arguments table = Arguments{"--covar", path("c.tsv")} + kPlain;
  const auto labels =
      study("a", "trait1,trait2",
            table + Arguments{"--covar-name", "age,site,code", "--cat-covar", "code"});
  const auto indicators =
      study("b", "trait1,trait2",
            table + Arguments{"--covar-name", "age,north,south,two,three"});
  expect_same_p(labels, indicators, 1e-4);
}

TEST_F(Gwas, SingleIsTheSmallestPValueTimesTheTraits) {
  run_well(cohort_.gwas(path("all"), "trait1,trait2,trait3",
                        cohort_.covariates() + kRanks + Arguments{"--single"}));
  std::vector<double> smallest(500, 1);
  // Everyone must have all traits, as in the run of all.
  const Arguments same = Arguments{"--keep", path("all.id")} + cohort_.covariates();
  for (const std::string trait : {"trait1", "trait2", "trait3"}) {
    const auto of_one = study("one", trait, same + kRanks);
    for (std::size_t i = 0; i < smallest.size(); ++i) {
      smallest[i] = std::min(smallest[i], of_one[i]);
    }
  }
  for (auto& value : smallest) value = std::min(1.0, 3 * value);
  expect_same_p(p("all.single"), smallest, 1e-4);
}

// ---- GEMMA

/// Everyone's traits and covariates as GEMMA reads them, in the order of the .fam.
class GwasAgainstGemma : public Gwas {
 protected:
  void SetUp() override {
    if (!has_tool("gemma")) GTEST_SKIP() << "gemma is not installed";
    run_well({"grm", "--bfile", cohort_.bfile, "--kind", "centered", "--gemma", "--out",
              path("k")});
    std::map<std::string, std::vector<std::string>> traits, covariates;
    for (const auto& row : rows_of(cohort_.pheno)) traits[row[1]] = row;
    for (const auto& row : rows_of(cohort_.covar)) covariates[row[1]] = row;
    std::string p, c;
    std::istringstream fam(content_of(cohort_.bfile + ".fam"));
    for (std::string line, family, id; std::getline(fam, line);) {
      std::istringstream(line) >> family >> id;
      const auto& values = traits.at(id);
      p += fmt::format("{}\n", fmt::join(values.begin() + 2, values.end(), "\t"));
      c += fmt::format("1\t{}\t{}\n", covariates.at(id)[2], covariates.at(id)[3]);
    }
    folder_.write("p.txt", p);
    folder_.write("c.txt", c);
    for (const std::string ending : {".bed", ".bim", ".fam"}) {
      fs::copy_file(cohort_.bfile + ending, path("g" + ending));
    }
  }

  std::vector<double> of_gemma(int traits, const std::string& test) const {
    std::string columns;
    for (int i = 1; i <= traits; ++i) columns += fmt::format(" {}", i);
    EXPECT_TRUE(
        run_in(folder_,
               fmt::format("OPENBLAS_NUM_THREADS=1 gemma -bfile g -p p.txt -n{} -c "
                           "c.txt -k k.cXX.txt -lmm {} -maf 0 -miss 1 -r2 1 -outdir . "
                           "-o g",
                           columns, test)));
    return p_of(path("g.assoc.txt"));
  }
  std::vector<double> of_kinflow(int traits, const std::string& test) const {
    std::string names = "trait1";
    for (int i = 2; i <= traits; ++i) names += fmt::format(",trait{}", i);
    return study("own", names,
                 cohort_.covariates() + kPlain +
                     Arguments{"--relationship", path("k.cXX.txt"), "--test", test});
  }
};

TEST_F(GwasAgainstGemma, ScoreTests) {
  for (const int traits : {1, 2, 4, 6}) {
    SCOPED_TRACE(traits);
    expect_same_p(of_kinflow(traits, "score"), of_gemma(traits, "3"), 1e-3);
  }
}

TEST_F(GwasAgainstGemma, WaldTests) {
  for (const int traits : {1, 2}) {
    SCOPED_TRACE(traits);
    expect_same_p(of_kinflow(traits, "wald"), of_gemma(traits, "1"), 1e-3);
  }
}

/// A hundred people, eight variants, two traits and a covariate, from formulas.
class GwasOfKnownData : public Gwas {
 protected:
  GwasOfKnownData() {
    const int people = 100;
    BedContent content = random_content(people, 8, 77);
    std::string pheno = "IID\ty1\ty2\n", covar = "IID\tx\n", k;
    for (int i = 0; i < people; ++i) {
      const double x = std::sin(3.0 * i);
      const double g = content.counts[2][static_cast<std::size_t>(i)];
      const int family = i / 5;
      const double y1 = 0.5 * x + 0.3 * g + 0.5 * std::sin(2.3 * family * family) +
                        std::cos(1.7 * i * i);
      const double y2 =
          y1 / 3 + 0.5 * std::cos(3.1 * family * family) + std::sin(0.9 * i * i);
      pheno += fmt::format("I{}\t{}\t{}\n", i, y1, y2);
      covar += fmt::format("I{}\t{}\n", i, x);
      gemma_pheno_ += fmt::format("{}\t{}\n", y1, y2);
      gemma_covar_ += fmt::format("1\t{}\n", x);
      for (int j = 0; j < people; ++j) {
        k += fmt::format("{}{}", j == 0 ? "" : "\t",
                         i == j           ? 1.0
                         : i / 5 == j / 5 ? 0.5
                                          : 0.0);
      }
      k += '\n';
    }
    prefix_ = write_bed(folder_, "t", content);
    folder_.write("p.tsv", pheno);
    folder_.write("c.tsv", covar);
    folder_.write("k.txt", k);
  }

  std::vector<double> of_kinflow(const std::string& traits, const std::string& test) {
    run_well(Arguments{"gwas", "--bfile", prefix_, "--pheno", path("p.tsv"),
                       "--pheno-name", traits, "--covar", path("c.tsv"),
                       "--relationship", path("k.txt"), "--relationship-by-position",
                       "--test", test, "--out", path("own")} +
             kPlain + kOverwrite);
    return p("own");
  }

  std::string prefix_, gemma_pheno_, gemma_covar_;
};

struct KnownTests {
  const char *traits, *columns, *test, *gemma_test;
  std::vector<double> p;  ///< as GEMMA 0.98.5 gives them
};

const std::vector<KnownTests>& known_tests() {
  static const std::vector<KnownTests> tests = {
      {"y1",
       "1",
       "score",
       "3",
       {0.3042888, 0.8623553, 0.08175301, 0.4352091, 0.9516119, 0.3114527, 0.9921422,
        0.2036175}},
      {"y1,y2",
       "1 2",
       "score",
       "3",
       {0.1531172, 0.04132323, 0.01504224, 0.2271135, 0.9344865, 0.3645996, 0.7409853,
        0.4008009}},
      {"y1",
       "1",
       "wald",
       "1",
       {0.3755733, 0.8239182, 0.038299, 0.3619924, 0.8393132, 0.2610099, 0.8537915,
        0.2304848}},
      {"y1,y2",
       "1 2",
       "wald",
       "1",
       {0.1383916, 0.03603004, 0.00921715, 0.2240498, 0.9287639, 0.3393408, 0.7263193,
        0.4062418}}};
  return tests;
}

TEST_F(GwasOfKnownData, GivesKnownPValues) {
  for (const auto& known : known_tests()) {
    SCOPED_TRACE(fmt::format("{} {}", known.traits, known.test));
    expect_same_p(of_kinflow(known.traits, known.test), known.p, 1e-3);
  }
}

TEST_F(GwasOfKnownData, TheKnownPValuesAreGemmas) {
  if (!has_tool("gemma")) GTEST_SKIP() << "gemma is not installed";
  folder_.write("gp.txt", gemma_pheno_);
  folder_.write("gc.txt", gemma_covar_);
  for (const auto& known : known_tests()) {
    SCOPED_TRACE(fmt::format("{} {}", known.traits, known.test));
    ASSERT_TRUE(
        run_in(folder_,
               fmt::format("gemma -bfile t -p gp.txt -n {} -c gc.txt -k k.txt -lmm {} "
                           "-maf 0 -miss 1 -r2 1 -outdir . -o g",
                           known.columns, known.gemma_test)));
    const auto p = p_of(path("g.assoc.txt"));
    expect_same_p(p, known.p, 1e-5);
  }
}

// ---- relationships

TEST_F(Gwas, LeavingAChromosomeOutIsTheSameWithFilesOfIt) {
  // kinflow grm takes everyone, so everyone must be analysed.
  run_well(cohort_.gwas(path("who"), "trait1,trait2", kPlain));
  const Arguments same = {"--keep", path("who.id"), "--loco"};
  const Arguments kind = {"--kind", "standardized"};
  run_well(Arguments{"grm", "--bfile", cohort_.bfile, "--out", path("k")} + same +
           kind);
  const auto computed = study("a", "trait1,trait2", kPlain + same + kind);
  const auto given =
      study("b", "trait1,trait2", kPlain + same + Arguments{"--grm", path("k")});
  expect_same_p(computed, given, 1e-4);
  const auto null = rows_of(path("a.null.tsv"));
  ASSERT_EQ(null.size(), 4U);
  for (const std::size_t chromosome : {1U, 2U, 3U}) {
    EXPECT_EQ(null[chromosome].front(), std::to_string(chromosome));
  }
}

TEST_F(Gwas, LeavesOutTheChromosomeOfTheVariant) {
  // Chromosome 1 tested with the relationship of 2 and 3.
  run_well(cohort_.gwas(path("who"), "trait1", kPlain));
  std::string of_first;
  std::size_t count = 0;
  for (const auto& row : associations(path("who.assoc.tsv"))) {
    if (row.chromosome != "1") continue;
    of_first += row.id + "\n";
    ++count;
  }
  folder_.write("first.txt", of_first);
  run_well({"grm", "--bfile", cohort_.bfile, "--keep", path("who.id"), "--chr", "2-3",
            "--kind", "centered", "--out", path("others")});
  const auto left_out = study("a", "trait1", kPlain + Arguments{"--loco"});
  const auto others = study(
      "b", "trait1",
      kPlain + Arguments{"--grm", path("others"), "--extract", path("first.txt")});
  ASSERT_EQ(others.size(), count);
  const std::vector<double> first(
      left_out.begin(), left_out.begin() + static_cast<std::ptrdiff_t>(count));
  expect_same_p(first, others, 1e-4);
  const auto of_all = p("who");
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(std::log10(of_all[i] / first[i])));
  }
  EXPECT_GT(largest, 0.1) << "all chromosomes together would give the same";
}

TEST_F(Gwas, WhatIsTestedDoesNotChangeTheRelationship) {
  const auto all = study("a", "trait1,trait2", kPlain);
  const auto second = study("b", "trait1,trait2", kPlain + Arguments{"--chr", "2"});
  const auto rows = associations(path("a.assoc.tsv"));
  std::vector<double> expected;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].chromosome == "2") expected.push_back(all[i]);
  }
  expect_same_p(second, expected, 1e-4);
}

TEST_F(Gwas, PrunesByLinkageAndZips) {
  run_well(cohort_.gwas(path("a"), "trait1",
                        kPlain + Arguments{"--prune-r2", "0.3", "--gz"}));
  EXPECT_FALSE(fs::exists(path("a.assoc.tsv")));
  const auto pruned = associations(path("a.assoc.tsv.gz"));
  EXPECT_LT(pruned.size(), 500U);
  EXPECT_GT(pruned.size(), 10U);
  EXPECT_NE(content_of(path("a.log")).find("--prune-r2 0.3"), std::string::npos);
  run_well(
      {"clump", path("a.assoc.tsv.gz"), "--bfile", cohort_.bfile, "--out", path("c")});
  EXPECT_EQ(content_of(path("a.loci.tsv")), content_of(path("c.loci.tsv")));
}

TEST_F(Gwas, PlinkClumpsItsTable) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  run_well(
      cohort_.gwas(path("a"), "trait1,trait2", kPlain + Arguments{"--p1", "0.01"}));
  ASSERT_TRUE(run_in(folder_, fmt::format("plink1.9 --bfile {} --clump a.assoc.tsv "
                                          "--clump-snp-field ID --clump-p1 0.01 "
                                          "--clump-r2 0.1 --clump-kb 250 --out plink",
                                          cohort_.bfile)));
  std::vector<std::string> of_plink, own;
  std::istringstream clumps(content_of(path("plink.clumped")));
  for (std::string line, cell; std::getline(clumps, line);) {
    std::istringstream cells(line);
    std::string chromosome, f, id;
    if (cells >> chromosome >> f >> id && id != "SNP") of_plink.push_back(id);
  }
  for (const auto& row : rows_of(path("a.loci.tsv"))) own.push_back(row[1]);
  own.erase(own.begin());
  EXPECT_EQ(own, of_plink);
  EXPECT_FALSE(own.empty());
}

TEST_F(Gwas, ClumpTakesTheIdsThatItWrites) {
  // Ids that stand for nothing, or for two variants, as those of a .bim may.
  std::istringstream bim(content_of(cohort_.bfile + ".bim"));
  std::string text, chromosome, id, rest;
  for (int line = 0; bim >> chromosome >> id && std::getline(bim, rest); ++line) {
    text += chromosome + "\t" +
            (line % 3 == 0   ? "."
             : line % 3 == 1 ? "rs1"
                             : id) +
            rest + "\n";
  }
  folder_.write("g.bim", text);
  for (const std::string ending : {".bed", ".fam"}) {
    fs::copy_file(cohort_.bfile + ending, path("g" + ending));
  }
  run_well(Arguments{"gwas", "--bfile", path("g"), "--pheno", cohort_.pheno,
                     "--pheno-name", "trait1,trait2", "--p1", "0.01", "--maf", "0.1",
                     "--out", path("a")} +
           kPlain);
  run_well({"clump", path("a.assoc.tsv"), "--bfile", path("g"), "--p1", "0.01", "--out",
            path("c")});
  EXPECT_GT(lines_in(path("a.loci.tsv")), 2U);
  EXPECT_EQ(content_of(path("a.loci.tsv")), content_of(path("c.loci.tsv")));
}

TEST_F(Gwas, HelpHasGeneticOptionsFirstAndTheDefaultsOfItsFlow) {
  const auto help = run_well({"gwas", "--help"});
  const auto flow = help.find("Flow of the traits");
  ASSERT_NE(flow, help.npos) << help;
  for (const std::string option : {"--bfile", "--maf", "--loco", "--p1", "--out"}) {
    EXPECT_LT(help.find("  " + option + " "), flow) << option << help;
  }
  for (const std::string option : {"--layers", "--hidden", "--epochs", "--device"}) {
    EXPECT_GT(help.find("  " + option + " "), flow) << option << help;
  }
  EXPECT_NE(help.find("(default: 30)"), help.npos) << help;
  EXPECT_EQ(help.find("30 with the memory estimator"), help.npos) << help;
}

}  // namespace
}  // namespace kinflow::cli
