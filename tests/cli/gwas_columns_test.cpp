// Traits of an association study that a flow cannot learn, and values apart from
// others.
#include <cmath>
#include <sstream>

#include "gwas_cohort.h"

namespace kinflow::cli {
namespace {

class GwasTraits : public testing::Test {
 protected:
  /// The cohort's traits with a further one, made of the number of the row and the
  /// first trait.
  std::string with_trait(
      const std::function<std::string(int row, double first)>& cell) {
    std::istringstream lines(content_of(cohort_.pheno));
    std::string text, line;
    for (int row = -1; std::getline(lines, line); ++row) {
      std::istringstream cells(line);
      std::string family, individual, first;
      cells >> family >> individual >> first;
      const bool is_missing = row >= 0 && first == "NA";
      text += line + "\t" +
              (row < 0      ? "extra"
               : is_missing ? "NA"
                            : cell(row, std::stod(first))) +
              "\n";
    }
    return folder_.write("pheno.tsv", text);
  }
  Arguments gwas_of(const std::string& pheno, const Arguments& more = {}) {
    return Arguments{"gwas",         "--bfile", cohort_.bfile,
                     "--pheno",      pheno,     "--pheno-name",
                     "trait1,extra", "--out",   folder_.path("g"),
                     "--threads",    "1"} +
           cohort_.covariates() + more;
  }

  const Cohort& cohort_ = Cohort::get();
  TemporaryFolder folder_;
};

TEST_F(GwasTraits, AFlowOfATwoValuedTraitIsRefusedAlsoWithCovariates) {
  const auto pheno = with_trait([](int row, double) {
    return std::string(row % 3 == 0 ? "1" : row % 3 == 1 ? "0" : "0.5");
  });
  expect_refusal(folder_, gwas_of(pheno, small_flow()),
                 {pheno, "'extra'", "--pheno-name", "--transform rank-normal",
                  "--allow-ties extra"});
  run_well(gwas_of(pheno, small_flow() + Arguments{"--allow-ties", "extra"}));
}

TEST_F(GwasTraits, TheLogarithmOfATraitIsNoTraitOfItsOwnForAFlow) {
  const auto pheno = with_trait(
      [](int, double first) { return fmt::format("{:.9g}", std::exp(first)); });
  expect_refusal(folder_, gwas_of(pheno, small_flow()),
                 {pheno, "'extra' is a monotone function of 'trait1'"});
}

TEST_F(GwasTraits, ACodeOfMissingValuesIsWarnedOfWithPersonAndValue) {
  Random random(3);
  const auto pheno = with_trait([&](int row, double) {
    return row == 20 ? "9999" : fmt::format("{:.6g}", random.normal());
  });
  const auto outcome = run(gwas_of(pheno, kRanks));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const auto& part : {"column 'extra': 9999 lies far", "missing value"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

// Bounds are options of fit.
TEST_F(GwasTraits, NoOptionIsAdvisedThatGwasHasNot) {
  Random random(4);
  const auto pheno = with_trait(
      [&](int, double) { return fmt::format("{:.6g}", std::exp(random.normal())); });
  const auto fit = gwas_of(
      pheno, small_flow() + Arguments{"--flow-input", "raw", "--covar-use", "context"});
  const auto outcome = run(fit);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("--positive"), std::string::npos) << outcome.err;
  for (const auto& option :
       {Arguments{"--positive", "extra"}, Arguments{"--bounds", "extra=0:"}}) {
    expect_refusal(folder_, fit + option, {option[0] + ": expected an option of"});
  }
}

}  // namespace
}  // namespace kinflow::cli
