// Traits of which nearly everyone has the same value, through the real binary.
#include <fmt/format.h>

#include <functional>

#include "gwas_cohort.h"

namespace kinflow::cli {
namespace {

/// 400 people, variants with minor alleles of a share of 0.1 to 0.5, and a trait.
class RareTraits : public testing::Test {
 protected:
  static constexpr std::size_t kPeople = 400;

  RareTraits() : content_(random_content(kPeople, 60, 5)) {
    Random random(7);
    for (std::size_t v = 0; v < content_.counts.size(); ++v) {
      const double share = 0.1 + 0.4 * static_cast<double>(v) / 60;
      for (auto& count : content_.counts[v]) {
        count = static_cast<std::int8_t>((random.uniform() < share) +
                                         (random.uniform() < share));
      }
    }
    bfile_ = write_bed(folder_, "t", content_);
  }

  /// A study of the trait 'y' with a value for each person.
  Arguments gwas(const std::function<double(std::size_t)>& value,
                 const Arguments& more = {"--transform", "none"}) const {
    std::string pheno = "IID\tother\ty\n";
    Random random(9);
    for (std::size_t i = 0; i < kPeople; ++i) {
      pheno += fmt::format("I{}\t{}\t{}\n", i, random.normal(), value(i));
    }
    folder_.write("p.tsv", pheno);
    return Arguments{"gwas",      "--bfile", bfile_,        "--pheno", path("p.tsv"),
                     "--threads", "1",       "--overwrite", "--out",   path("o")} +
           more;
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  TemporaryFolder folder_;
  BedContent content_;
  std::string bfile_;
};

/// A trait that is 1 in so many people and 0 in the others.
std::function<double(std::size_t)> cases(std::size_t count) {
  return [count](std::size_t i) { return i * 7 % 400 < count ? 1.0 : 0.0; };
}

TEST_F(RareTraits, FewCasesAreRefusedWithTheirCounts) {
  for (const std::string transform : {"none", "rank-normal", "flow"}) {
    expect_refusal(folder_, gwas(cases(8), {"--transform", transform}),
                   {"p.tsv", "other values of 'y' than 0", "50 minor alleles", "at 'rs",
                    "8 of 400 people", "no variant is common enough", "--pheno-name"});
  }
  run_well(gwas(cases(8), {"--transform", "none", "--pheno-name", "other"}));
}

TEST_F(RareTraits, VariantsThatAreCommonEnoughCanBeTested) {
  expect_refusal(folder_, gwas(cases(100)),
                 {"'y'", "100 of 400 people", "--maf 0.25 tests variants"});
  run_well(gwas(cases(100), {"--transform", "none", "--maf", "0.25", "--nonfounders"}));
  run_well(gwas(cases(100), {"--transform", "none", "--mac", "200", "--nonfounders"}));
  EXPECT_LT(lines_in(path("o.assoc.tsv")), 60U);
}

TEST_F(RareTraits, CommonCasesAreTestedAsTheyAre) {
  run_well(gwas(cases(180)));
  expect_refusal(folder_, gwas(cases(180), {"--transform", "flow"}),
                 {"p.tsv", "'y'", "two values", "--transform none"});
}

TEST_F(RareTraits, CountsThatAreMostlyZeroAreRefused) {
  const auto zeros = [](std::size_t i) {
    return i % 20 == 0 ? 1.5 + static_cast<double>(i) : 0.0;
  };
  for (const std::string transform : {"none", "rank-normal", "flow"}) {
    expect_refusal(folder_, gwas(zeros, {"--transform", transform}),
                   {"p.tsv", "other values of 'y' than 0", "20 of 400 people"});
  }
}

TEST_F(RareTraits, SkewedTraitsAreWarnedOf) {
  const auto skewed = [](std::size_t i) {
    return std::exp(3 * std::sin(static_cast<double>(i * i)));
  };
  const auto outliers = [&](std::size_t i) { return i == 5 ? 1000.0 : skewed(i); };
  const auto plain = run(gwas(outliers));
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_NE(plain.err.find("'y' is skewed"), std::string::npos) << plain.err;
  EXPECT_EQ(plain.err.find("'other' is skewed"), std::string::npos) << plain.err;
  const auto ranks = run(gwas(outliers, {"--transform", "rank-normal"}));
  EXPECT_EQ(ranks.err.find("skewed"), std::string::npos) << ranks.err;
}

/// The error of the first kind of a score test of k cases among n independent people at
/// a variant with so many minor alleles, over its level.
double relative_error(double n, double k, double minor, double quantile, double level) {
  const auto log_choose = [](double all, double some) {
    return std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1);
  };
  const double expected = minor * k / n;
  const double deviation =
      std::sqrt(expected * (1 - k / n) * (2 * n - minor) / (2 * n - 1));
  double error = 0;
  for (double x = 0; x <= std::min(minor, 2 * k); ++x) {
    if (std::abs(x - expected) < quantile * deviation) continue;
    error += std::exp(log_choose(2 * k, x) + log_choose(2 * n - 2 * k, minor - x) -
                      log_choose(2 * n, minor));
  }
  return error / level;
}

TEST(RareTraitsTable, TheBoundKeepsTheErrorOfTheFirstKind) {
  constexpr double kQuantile = 4.417173413469021, kLevel = 1e-5;
  constexpr double kPeople = 20'000;
  for (const double share : {0.01, 0.05, 0.1, 0.2, 0.3}) {
    double above = 0, below = 0;
    for (double expected = 5; expected < 100; expected += 0.5) {
      const double error = relative_error(
          kPeople, share * kPeople, std::round(expected / share), kQuantile, kLevel);
      double& largest = expected < 50 ? below : above;
      largest = std::max(largest, error);
    }
    EXPECT_LT(above, 2.7) << share;
    if (share < 0.2) {
      EXPECT_GT(below, 10) << share;
    }
  }
  for (double minor = 1; minor < 1000; ++minor) {
    EXPECT_LT(relative_error(kPeople, 0.35 * kPeople, minor, kQuantile, kLevel), 2.7);
  }
}

}  // namespace
}  // namespace kinflow::cli
