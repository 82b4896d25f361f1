// Association studies that cannot be: refused in one line, with nothing left behind.
#include <sys/resource.h>

#include "gwas_cohort.h"

namespace kinflow::cli {
namespace {

namespace fs = std::filesystem;

/// Two chromosomes of forty people without missing genotypes, their traits and
/// covariates as tables that a test may spoil, and a relationship.
class BadGwas : public testing::Test {
 protected:
  BadGwas() {
    Random random(5);
    content_ = random_content(kPeople, 60, 9);
    for (auto& row : content_.counts) {
      for (auto& count : row) count = std::max<std::int8_t>(count, 0);
    }
    bfile_ = write_bed(folder_, "t", content_);
    pheno_.push_back({"FID", "IID", "y1", "y2"});
    covar_.push_back({"FID", "IID", "age", "dose"});
    for (int i = 0; i < kPeople; ++i) {
      const auto& id = content_.people[static_cast<std::size_t>(i)].id;
      const auto draw = [&] { return fmt::format("{}", random.normal()); };
      pheno_.push_back({id.family, id.individual, draw(), draw()});
      covar_.push_back({id.family, id.individual, draw(), draw()});
    }
    write_tables();
    for (int i = 0; i < kPeople; ++i) {
      for (int j = 0; j < kPeople; ++j) {
        k_[static_cast<std::size_t>(i)].push_back(i == j           ? 1
                                                  : i / 5 == j / 5 ? 0.4
                                                                   : 0);
      }
    }
    write_k();
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  void write_tables() const {
    folder_.write("p.tsv", joined(pheno_));
    folder_.write("c.tsv", joined(covar_));
  }
  void write_k() const {
    std::string text;
    for (const auto& row : k_) text += fmt::format("{}\n", fmt::join(row, "\t"));
    folder_.write("k.txt", text);
  }
  /// Sets a column of a table by its rows from 0.
  static void set(TableRows& table, std::size_t column,
                  const std::function<std::string(std::size_t)>& value) {
    for (std::size_t i = 0; i + 1 < table.size(); ++i) table[i + 1][column] = value(i);
  }
  double y(std::size_t person, std::size_t column = 2) const {
    return std::stod(pheno_[person + 1][column]);
  }

  /// Of the traits as they are, unless `more` says otherwise.
  Arguments gwas(const Arguments& more = {}) const {
    Arguments arguments = {"gwas",  "--bfile", bfile_,      "--pheno", path("p.tsv"),
                           "--out", path("o"), "--threads", "1"};
    if (std::find(more.begin(), more.end(), "--transform") == more.end()) {
      arguments = arguments + Arguments{"--transform", "none"};
    }
    return arguments + more;
  }
  Arguments with_covar() const { return gwas({"--covar", path("c.tsv")}); }
  Arguments with_k(const Arguments& more = {}) const {
    const bool has_ids =
        std::find(more.begin(), more.end(), "--relationship-ids") != more.end();
    const auto how = has_ids ? Arguments{} : Arguments{"--relationship-by-position"};
    return gwas(Arguments{"--relationship", path("k.txt")} + how + more);
  }
  void expect_refused(const Arguments& arguments, const Arguments& mentioned) const {
    expect_refusal(folder_, arguments, mentioned);
  }

  static constexpr int kPeople = 40;
  TemporaryFolder folder_;
  BedContent content_;
  std::string bfile_;
  TableRows pheno_, covar_;
  std::vector<std::vector<double>> k_ = std::vector<std::vector<double>>(kPeople);
};

TEST_F(BadGwas, TheDataAreGoodBeforeTheyAreSpoilt) {
  run_well(with_covar());
  run_well(with_k() + kOverwrite);
}

// ---- GEMMA's failures

TEST_F(BadGwas, PhenotypesWithoutAHeader) {
  folder_.write("p.tsv", joined({pheno_.begin() + 1, pheno_.end()}));
  expect_refused(gwas(), {"p.tsv:1", "expected a header", "a line of numbers"});
}

TEST_F(BadGwas, MissingValuesAreThoseOfAllTablesAndCounted) {
  pheno_[3][2] = "nan";
  pheno_[7][2] = "NA";
  pheno_[9][2] = "#N/A";
  pheno_[11][2] = "null";
  pheno_[13][2] = "None";
  write_tables();
  const auto outcome = run(gwas());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("35 people, 2 traits"), outcome.err.npos) << outcome.err;
  for (const auto& row : associations(path("o.assoc.tsv"))) EXPECT_EQ(row.people, 35);
}

TEST_F(BadGwas, AllBadTraitsAreNamed) {
  pheno_[3][2] = "low";
  pheno_[6][3] = "1,5";
  write_tables();
  expect_refused(gwas(), {"p.tsv:4", "'y1'", "'low'", "'y2' ('1,5' in line 7)"});
  expect_refused(gwas({"--pheno-name", "y1,p,q"}), {"expected columns 'p', 'q'"});
}

TEST_F(BadGwas, MinusNineIsMissingUnlessValuesNearItAreThere) {
  pheno_[3][2] = "-9";
  write_tables();
  const auto outcome = run(gwas());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("1 value of -9 taken as missing"), outcome.err.npos);
  EXPECT_NE(outcome.err.find("39 people"), outcome.err.npos) << outcome.err;
  for (const auto& file : fs::directory_iterator(folder_.path())) {
    if (file.path().filename().string().starts_with("o.")) fs::remove(file.path());
  }
  pheno_[4][2] = "-8.5";
  write_tables();
  expect_refused(gwas(), {"p.tsv:4", "'y1'", "-9", "'-8.5'", "--minus-nine"});
  run_well(gwas({"--minus-nine", "value"}));
}

TEST_F(BadGwas, RelationshipsThatAreNone) {
  k_[2][7] = 0.3;
  write_k();
  expect_refused(with_k(), {"k.txt", "symmetric", "row 8"});
  k_[2][7] = k_[7][2] = 0;
  const auto whole = k_;
  k_.pop_back();
  write_k();
  expect_refused(with_k(), {"k.txt"});
  for (auto& row : k_) row.pop_back();
  write_k();
  expect_refused(with_k(), {"k.txt", "expected 40 rows", "found 39"});
  k_ = whole;
  k_[0][1] = k_[1][0] = 3;
  write_k();
  for (const std::string transform : {"none", "flow"}) {
    expect_refused(with_k({"--transform", transform}),
                   {"k.txt", "positive semidefinite", "eigenvalues from -"});
  }
  folder_.write("k.txt", "");
  expect_refused(with_k(), {"k.txt"});
  expect_refused(gwas({"--grm", path("nothing")}),
                 {path("nothing.grm.bin"), "no such file"});
  expect_refused(gwas({"--grm", path("nothing"), "--loco"}),
                 {path("nothing.chr1.grm.bin"), "without chromosome 1"});
  run_well({"grm", "--bfile", bfile_, "--loco", "--out", path("l")});
  expect_refused(gwas({"--grm", path("l"), "--loco", "--transform", "flow"}),
                 {path("l.grm.bin"), "all chromosomes", "the flow needs"});
}

TEST_F(BadGwas, TraitsThatDependOnEachOther) {
  set(pheno_, 3, [&](std::size_t i) { return fmt::format("{}", 2 * y(i)); });
  write_tables();
  expect_refused(gwas(), {"p.tsv", "'y1'", "'y2'", "linear combination"});
  set(pheno_, 3, [&](std::size_t i) { return fmt::format("{}", std::exp(y(i))); });
  write_tables();
  expect_refused(gwas({"--transform", "rank-normal"}), {"p.tsv", "'y1'", "'y2'"});
}

TEST_F(BadGwas, TraitsThatAreNearlyTheSameAreWarnedOf) {
  set(pheno_, 3, [&](std::size_t i) {
    return fmt::format("{}", y(i) + 1e-3 * std::sin(7.0 * static_cast<double>(i * i)));
  });
  write_tables();
  const auto outcome = run(gwas());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("warning: the traits are close to a linear combination"),
            outcome.err.npos)
      << outcome.err;
  for (const auto& row : associations(path("o.assoc.tsv"))) {
    EXPECT_FALSE(std::isnan(row.p));
  }
}

TEST_F(BadGwas, PositionZeroIsNoMistake) {
  content_.variants[0].position = 0;
  write_bed(folder_, "t", content_);
  run_well(gwas());
  EXPECT_EQ(associations(path("o.assoc.tsv")).front().position, 0);
}

TEST_F(BadGwas, UnknownAndImpossibleOptions) {
  expect_refused(gwas({"--nonsense", "2"}), {"--nonsense"});
  expect_refused(gwas({"--maf", "2"}), {"--maf"});
  expect_refused(gwas({"--test", "lrt"}), {"--test"});
  expect_refused(gwas({"--covar-name", "age"}), {"--covar"});
  expect_refused(with_k({"--loco"}), {"--loco", "--relationship"});
  expect_refused(gwas({"--pheno-name", "y1,y1"}), {"--pheno-name", "'y1' twice"});
  expect_refused(gwas({"--pheno-name", "y9"}), {"p.tsv", "'y9'", "'y1'"});
}

// ---- genotype files

// Sizes alone do not show it: four people share a byte.
TEST_F(BadGwas, AFamOfOtherPeopleThanTheBed) {
  auto content = random_content(38, 60, 9);
  for (auto& row : content.counts) row.back() = 0;
  write_bed(folder_, "t", content);
  const auto fam = fam_lines(content.people);
  folder_.write("t.fam", "FID IID PAT MAT SEX PHENO\n" + fam);
  expect_refused(gwas(), {"t.fam:1: expected a person, found a header"});
  folder_.write("t.fam", fam.substr(fam.find('\n') + 1));
  expect_refused(gwas(), {"t.bed: expected no genotypes after those of the 37 people",
                          "is a line of the .fam missing?"});
}

TEST_F(BadGwas, BrokenGenotypeFiles) {
  const auto bytes = bed_bytes(content_);
  folder_.write("t.bed", bytes.substr(0, 200));
  expect_refused(gwas(), {"t.bed", "expected 603 bytes", "found 200"});
  folder_.write("t.bed", "abc" + bytes.substr(3));
  expect_refused(gwas(), {"t.bed", "6c 1b 01", "61 62 63"});
  auto individual_major = bytes;
  individual_major[2] = 0;
  folder_.write("t.bed", individual_major);
  expect_refused(gwas(), {"t.bed", "one row for each variant", "one for each person"});
  folder_.write("t.bed", "");
  expect_refused(gwas(), {"t.bed", "empty"});
  folder_.write("t.bed", bytes);
  folder_.write("t.bim", "1 rs1 0\n");
  expect_refused(gwas(), {"t.bim:1"});
  fs::remove(path("t.fam"));
  folder_.write("t.bim", bim_lines(content_.variants));
  expect_refused(gwas(), {"t.fam"});
}

TEST_F(BadGwas, IdsThatDoNotMatch) {
  const auto rename = [](TableRows table) {
    for (std::size_t i = 1; i < table.size(); ++i) table[i][1] = "X" + table[i][1];
    return table;
  };
  folder_.write("p.tsv", joined(rename(pheno_)));
  expect_refused(gwas(), {"p.tsv", "'F0 XI0'", "'F0 I0'"});
  write_tables();
  folder_.write("c.tsv", joined(rename(covar_)));
  expect_refused(with_covar(), {"c.tsv", "'F0 XI0'", "'F0 I0'"});
  std::string ids;
  for (int i = 0; i < kPeople; ++i) ids += fmt::format("F{} XI{}\n", i / 5, i);
  folder_.write("k.id", ids);
  expect_refused(with_k({"--relationship-ids", path("k.id")}),
                 {"k.txt", "'F0 XI0'", "'F0 I0'"});
  // Half of the people have traits, the other half covariates.
  TableRows first(pheno_.begin(), pheno_.begin() + 21), second = covar_;
  second.erase(second.begin() + 1, second.begin() + 21);
  folder_.write("p.tsv", joined(first));
  folder_.write("c.tsv", joined(second));
  expect_refused(with_covar(), {"p.tsv", "found 0", "20 in the phenotype table"});
}

TEST_F(BadGwas, ARelationshipOfFewerPeopleLeavesTheOthersOut) {
  std::string ids;
  for (auto& row : k_) row.resize(30);
  k_.resize(30);
  write_k();
  for (int i = 0; i < 30; ++i) ids += fmt::format("F{} I{}\n", i / 5, i);
  folder_.write("k.id", ids);
  const auto outcome = run(with_k({"--relationship-ids", path("k.id")}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("in the relationship"), outcome.err.npos);
  EXPECT_NE(outcome.err.find("30 people, 2 traits"), outcome.err.npos) << outcome.err;
}

// ---- tables

TEST_F(BadGwas, CovariatesThatDoNotWork) {
  const auto other = covar_;
  set(covar_, 3, [&](std::size_t i) {
    return fmt::format("{}", 3 - 2 * std::stod(other[i + 1][2]));
  });
  write_tables();
  expect_refused(with_covar(), {"c.tsv", "'age'", "'dose'", "linear combination"});
  // Different only in somebody without a trait.
  set(covar_, 3, [](std::size_t i) { return i == 0 ? "1" : "7"; });
  pheno_[1][2] = "NA";
  write_tables();
  expect_refused(with_covar(), {"c.tsv", "'dose'", "found 7 in all 39 rows"});
  covar_.front()[3] = "y1";
  write_tables();
  expect_refused(with_covar(), {"c.tsv", "'y1'", "trait or a covariate", "found both"});
}

TEST_F(BadGwas, NumbersThatAreTooLargeOrTooSmall) {
  const auto covariate = covar_[4][3];
  covar_[4][3] = "1e160";
  write_tables();
  for (const std::string transform : {"none", "rank-normal", "flow"}) {
    expect_refused(gwas({"--covar", path("c.tsv"), "--transform", transform}),
                   {"c.tsv", "'dose'", "1e+100", "found 1e+160"});
  }
  covar_[4][3] = covariate;
  const auto traits = pheno_;
  for (const double unit : {1e200, 1e-200}) {
    for (const std::size_t column : {2U, 3U}) {
      set(pheno_, column, [&](std::size_t i) {
        return fmt::format("{}", unit * std::stod(traits[i + 1][column]));
      });
    }
    write_tables();
    expect_refused(gwas(), {"p.tsv", "'y1'", "largest value between"});
  }
  pheno_ = traits;
  pheno_[9][2] = "-1e90";
  write_tables();
  run_well(gwas());
  for (const auto& row : associations(path("o.assoc.tsv"))) EXPECT_GE(row.p, 0);
}

TEST_F(BadGwas, ATimestampIsAsGoodACovariateAsItsSeconds) {
  const auto other = covar_;
  const auto p_from = [&](double start) {
    set(covar_, 3, [&](std::size_t i) {
      return fmt::format("{:.3f}", start + 50 * std::stod(other[i + 1][3]));
    });
    write_tables();
    run_well(with_covar() + kOverwrite);
    return p_of(path("o.assoc.tsv"));
  };
  expect_same_p(p_from(1.6e9), p_from(0), 1e-5);
}

TEST_F(BadGwas, TraitsThatDoNotVaryOrAreMissing) {
  set(pheno_, 2, [](std::size_t) { return "4"; });
  write_tables();
  expect_refused(gwas(), {"p.tsv", "'y1'", "different values", "found 4"});
  set(pheno_, 2, [](std::size_t) { return "NA"; });
  write_tables();
  expect_refused(gwas(), {"p.tsv", "'y1'", "expected at least 10 people", "found 0"});
  set(pheno_, 2, [](std::size_t) { return "text"; });
  write_tables();
  expect_refused(gwas(), {"p.tsv:2", "'y1'", "expected a number", "'text'"});
}

TEST_F(BadGwas, NamesWithBlanks) {
  pheno_.front()[2] = "my trait";
  write_tables();
  run_well(gwas());
  EXPECT_EQ(rows_of(path("o.pheno")).front(),
            (std::vector<std::string>{"#FID", "IID", "my_trait", "y2"}));
  pheno_.front()[3] = "my_trait";
  write_tables();
  expect_refused(gwas() + kOverwrite, {"p.tsv", "'my_trait' twice"});
}

TEST_F(BadGwas, MoreTraitsThanPeople) {
  Random random(1);
  for (int i = 3; i <= 14; ++i) pheno_.front().push_back(fmt::format("y{}", i));
  for (std::size_t i = 1; i < pheno_.size(); ++i) {
    while (pheno_[i].size() < pheno_.front().size()) {
      pheno_[i].push_back(fmt::format("{}", random.normal()));
    }
  }
  pheno_.resize(13);
  write_tables();
  expect_refused(gwas(),
                 {"p.tsv", "expected at least 17 rows for 14 traits", "found 12"});
}

TEST_F(BadGwas, NoVariantsOrNoFounders) {
  folder_.write("none.txt", "rs_of_nobody\n");
  expect_refused(gwas({"--extract", path("none.txt")}), {"t.bim", "found none"});
  expect_refused(gwas({"--chr", "7"}), {"t.bim", "found none"});
  expect_refused(gwas({"--chr", "99"}), {"--chr", "'99'"});
  for (auto& variant : content_.variants) variant.chromosome = "1";
  write_bed(folder_, "t", content_);
  expect_refused(gwas({"--loco"}), {"t.bim", "several chromosomes", "those of 1 only"});
  for (auto& person : content_.people) {
    person.father = person.id.individual == "I0" ? "I1" : "I0";
    person.mother = person.id.individual == "I2" ? "I1" : "I2";
  }
  write_bed(folder_, "t", content_);
  expect_refused(with_k({"--maf", "0.05"}), {"t.fam", "founders", "--nonfounders"});
  expect_refused(gwas({"--kind", "standardized"}),
                 {"t.fam", "founders", "--nonfounders"});
  run_well(gwas({"--maf", "0.05", "--nonfounders"}));
}

// ---- output

TEST_F(BadGwas, PlacesThatCannotBeWritten) {
  const auto to = [&](const std::string& out) {
    return Arguments{"gwas",  "--bfile", bfile_,        "--pheno", path("p.tsv"),
                     "--out", out,       "--transform", "none"};
  };
  expect_refused(to(path("no/such/o")), {"--out", "a folder that exists", "no/such/o"});
  expect_refused(to(path("p.tsv/o")), {"--out", "p.tsv/o"});
  expect_refused(to(path("") + "/"), {"--out", "prefix"});
  expect_refused(to(""), {"--out: expected a value, found none"});
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  if (::access(path("locked").c_str(), W_OK) != 0) {
    expect_refused(to(path("locked/o")), {path("locked/o"), "Permission denied"});
  }
  fs::create_directory(path("x.id"));
  expect_refused(to(path("x")), {path("x.id")});
}

TEST_F(BadGwas, AnOutputThatIsAnInput) {
  fs::rename(path("p.tsv"), path("o.pheno"));
  expect_refused({"gwas", "--bfile", bfile_, "--pheno", path("o.pheno"), "--out",
                  path("o"), "--transform", "none"},
                 {"--out", path("o.pheno")});
  fs::rename(path("o.pheno"), path("p.tsv"));
  folder_.write("o.id", "F0 I0\n");
  expect_refused(gwas({"--keep", path("o.id")}), {"--out", path("o.id")});
  fs::remove(path("o.id"));
  const auto flow = small_flow("2") + Arguments{"--transform", "flow"};
  run_well({"grm", "--bfile", bfile_, "--out", path("o.flow")});
  expect_refused(gwas(flow + Arguments{"--grm", path("o.flow")}),
                 {"--out", path("o.flow.grm.bin")});
  run_well({"grm", "--bfile", bfile_, "--loco", "--out", path("k")});
  fs::rename(path("k.chr1.grm.id"), path("k.chr1.id"));
  fs::create_symlink(path("k.chr1.id"), path("k.chr1.grm.id"));
  expect_refused({"gwas", "--bfile", bfile_, "--pheno", path("p.tsv"), "--transform",
                  "none", "--grm", path("k"), "--loco", "--out", path("k.chr1")},
                 {"--out", path("k.chr1.id")});
}

TEST_F(BadGwas, AFlowLeavesRelationshipsOfTheSamePrefixAlone) {
  // With more variants missing than the matrix of centred genotypes can have.
  content_ = random_content(kPeople, 60, 9);
  write_bed(folder_, "t", content_);
  run_well({"grm", "--bfile", bfile_, "--out", path("o")});
  const auto before = content_of(path("o.grm.bin"));
  const auto flow = small_flow("2") + Arguments{"--transform", "flow"};
  run_well(gwas(flow));
  EXPECT_TRUE(content_of(path("o.grm.bin")) == before);
  EXPECT_TRUE(fs::exists(path("o.flow.grm.bin")));
  run_well(gwas(flow + Arguments{"--grm", path("o")}) + kOverwrite);
  EXPECT_TRUE(content_of(path("o.grm.bin")) == before);
}

/// Runs the binary with a limit on the size of files, which stands in for a disk that
/// fills up.
Outcome run_with_small_files(const Arguments& arguments, rlim_t bytes) {
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &small);
  Outcome outcome = run(arguments);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  return outcome;
}

TEST_F(BadGwas, AFailureInTheMiddleLeavesNothing) {
  // Chromosome 1 can be tested; without chromosome 2 there is no relationship.
  for (std::size_t v = 0; v < content_.counts.size(); ++v) {
    if (content_.variants[v].chromosome != "1") continue;
    for (std::size_t i = 0; i < kPeople; ++i) content_.counts[v][i] = i == 0 ? 1 : 0;
  }
  write_bed(folder_, "t", content_);
  pheno_[1][2] = "NA";
  write_tables();
  const auto before = content_below(folder_.path());
  for (const auto& more :
       {Arguments{}, Arguments{"--transform", "flow"} + small_flow("2")}) {
    const auto outcome = run(gwas(Arguments{"--loco"} + more));
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("2 traits"), outcome.err.npos) << outcome.err;
    EXPECT_TRUE(content_below(folder_.path()) == before) << "files have changed";
  }
}

TEST_F(BadGwas, ADiskThatFillsUp) {
  const auto before = content_below(folder_.path());
  for (const auto& arguments :
       {gwas(), gwas(Arguments{"--transform", "flow"} + small_flow("2"))}) {
    const Outcome outcome = run_with_small_files(arguments, 1500);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("File too large"), outcome.err.npos) << outcome.err;
    EXPECT_TRUE(content_below(folder_.path()) == before) << "files have changed";
  }
  // Once variants are tested, they are kept for the same command to go on with.
  const Outcome later = run_with_small_files(gwas(), 5000);
  EXPECT_EQ(later.exit_code, 2) << later.err;
  EXPECT_FALSE(fs::exists(path("o.assoc.tsv")));
  run_well(gwas());
  EXPECT_FALSE(fs::exists(path("o.partial")));
  EXPECT_EQ(associations(path("o.assoc.tsv")).size(), 60U);
}

}  // namespace
}  // namespace kinflow::cli
