// Tests of SNPs against dense algebra, and against GEMMA: its numbers, and GEMMA itself
// where it is installed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kinflow/core/error.h"
#include "kinflow/genetics/score_test.h"
#include "kinflow/genetics/single_trait_tests.h"
#include "kinflow/genetics/wald_test.h"
#include "kinflow/statistics/chi_squared.h"
#include "kinflow/statistics/p_value.h"
#include "tests/data/helpers.h"
#include "tests/genetics/mixed_model_problem.h"

namespace kinflow {
namespace {

TEST(ScoreTest, IsTheDefinitionInDenseAlgebra) {
  for (const std::int64_t traits : {1, 2, 4}) {
    const auto problem = simulate_mixed_model(60, traits, 2, 4, 0.5, 21);
    for (const auto kind : {LikelihoodKind::full, LikelihoodKind::restricted}) {
      const auto null = fit_mixed_model(problem.data, kind);
      SnpResults results;
      FixedVarianceTest(problem.data, null)
          .test(problem.rotated_snps.data(), problem.snps, results);
      for (std::int64_t s = 0; s < problem.snps; ++s) {
        const DenseMixedModel dense(
            problem, null.variances,
            &problem.genotypes[static_cast<std::size_t>(60 * s)]);
        const double chi_square = dense.last_chi_square();
        const auto at = static_cast<std::size_t>(s);
        EXPECT_NEAR(results.chi_square[at], chi_square, 1e-7 * (1 + chi_square));
        if (traits > 1) {
          EXPECT_NEAR(p_of_log10(results.log10_p[at]),
                      chi_squared_tail(chi_square, static_cast<int>(traits)), 1e-7);
        }
        const auto effects = dense.last_effects(), covariance = dense.last_covariance();
        for (std::int64_t a = 0; a < traits; ++a) {
          const auto cell = static_cast<std::size_t>(a * problem.snps + s);
          EXPECT_NEAR(results.effects[cell], effects[static_cast<std::size_t>(a)],
                      1e-7);
          EXPECT_NEAR(results.standard_errors[cell],
                      std::sqrt(covariance[static_cast<std::size_t>(a * traits + a)]),
                      1e-7);
        }
      }
    }
  }
}

/// The problem with a SNP among its covariates.
MixedModelData with_snp(const MixedModelProblem& problem, std::int64_t snp) {
  auto covariates = problem.covariate_columns;
  covariates.names.push_back("snp");
  const auto first = problem.genotypes.begin() + snp * problem.rows;
  covariates.values.insert(covariates.values.end(), first, first + problem.rows);
  return make_mixed_model_data(problem.eigen, problem.trait_columns, covariates);
}

TEST(WaldTest, RefitsTheVariancesWithTheSnp) {
  for (const std::int64_t traits : {1, 3}) {
    const auto problem = simulate_mixed_model(200, traits, 2, 3, 0.4, 22);
    const auto null = fit_mixed_model(problem.data, LikelihoodKind::full);
    SnpResults results;
    WaldTest(problem.data, null, {.refine_below = 1})
        .test(problem.rotated_snps.data(), problem.snps, results);
    for (std::int64_t s = 0; s < problem.snps; ++s) {
      const auto fit =
          fit_mixed_model(with_snp(problem, s), LikelihoodKind::restricted);
      const DenseMixedModel dense(
          problem, fit.variances,
          &problem.genotypes[static_cast<std::size_t>(200 * s)]);
      const double chi_square = dense.last_chi_square();
      EXPECT_NEAR(results.chi_square[static_cast<std::size_t>(s)], chi_square,
                  1e-4 * (1 + chi_square));
      EXPECT_NEAR(results.effects[static_cast<std::size_t>(s)], dense.last_effects()[0],
                  1e-5);
      EXPECT_NEAR(results.standard_errors[static_cast<std::size_t>(s)],
                  std::sqrt(dense.last_covariance()[0]), 1e-5);
    }
  }
}

TEST(WaldTest, StopsBetweenTwoVariants) {
  const std::atomic<bool> stop = true, go_on = false;
  for (const std::int64_t traits : {1, 2}) {
    const auto problem = simulate_mixed_model(60, traits, 1, 3, 0.5, 11);
    const auto null = fit_mixed_model(problem.data, LikelihoodKind::full);
    const WaldTest test(problem.data, null);
    SnpResults results;
    EXPECT_THROW(test.test(problem.rotated_snps.data(), 3, results, &stop),
                 Interrupted);
    test.test(problem.rotated_snps.data(), 3, results, &go_on);
    EXPECT_TRUE(std::isfinite(results.log10_p[2]));
  }
}

TEST(WaldTest, WantsTheMlFit) {
  const auto problem = simulate_mixed_model(50, 1, 1, 0, 0.5, 23);
  const auto null = fit_mixed_model(problem.data, LikelihoodKind::restricted);
  EXPECT_THROW(WaldTest(problem.data, null), InputError);
}

TEST(AssociationTests, HaveNoAnswerForSnpsThatCovariatesDetermine) {
  for (const std::int64_t traits : {1, 2}) {
    auto problem = simulate_mixed_model(50, traits, 2, 3, 0.5, 24);
    for (std::size_t i = 0; i < 50; ++i) problem.genotypes[50 + i] = 2;
    const auto snps = rotate(problem.eigen, problem.genotypes.data(), 3);
    const auto null = fit_mixed_model(problem.data, LikelihoodKind::full);
    for (const bool is_wald : {false, true}) {
      SnpResults results;
      if (is_wald) {
        WaldTest(problem.data, null).test(snps.data(), 3, results);
      } else {
        FixedVarianceTest(problem.data, null).test(snps.data(), 3, results);
      }
      EXPECT_TRUE(std::isfinite(results.log10_p[0]));
      EXPECT_TRUE(std::isnan(results.log10_p[1]));
      EXPECT_TRUE(std::isnan(results.effects[1]));
      EXPECT_TRUE(std::isnan(results.standard_errors[1]));
      EXPECT_TRUE(std::isfinite(results.log10_p[2]));
    }
  }
}

TEST(SingleTraitTests, TakeTheSmallestOfTheirTraits) {
  const auto problem = simulate_mixed_model(100, 3, 1, 5, 0.5, 25);
  for (const auto kind : {TestKind::score, TestKind::wald}) {
    const SingleTraitTests tests(problem.data, kind);
    EXPECT_EQ(tests.null_fits().size(), 3u);
    SingleTraitResults results;
    tests.test(problem.rotated_snps.data(), 5, results);
    std::vector<double> largest(5, 0);
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto data = trait_of(problem.data, j);
      const auto null = fit_mixed_model(data, LikelihoodKind::full);
      SnpResults of_trait;
      if (kind == TestKind::score) {
        FixedVarianceTest(data, null).test(problem.rotated_snps.data(), 5, of_trait);
      } else {
        WaldTest(data, null).test(problem.rotated_snps.data(), 5, of_trait);
      }
      for (std::size_t s = 0; s < 5; ++s) {
        EXPECT_DOUBLE_EQ(results.traits[static_cast<std::size_t>(j)].log10_p[s],
                         of_trait.log10_p[s]);
        largest[s] = std::max(largest[s], of_trait.log10_p[s]);
      }
    }
    for (std::size_t s = 0; s < 5; ++s) {
      EXPECT_DOUBLE_EQ(results.largest_log10_p[s], largest[s]);
      EXPECT_NEAR(p_of_log10(results.corrected_log10_p[s]),
                  std::min(1.0, 3 * p_of_log10(largest[s])), 1e-15);
    }
  }
}

constexpr std::int64_t kGemmaRows = 200, kGemmaSnps = 6;

MixedModelProblem gemma_problem(std::int64_t traits) {
  return simulate_mixed_model(kGemmaRows, traits, 1, kGemmaSnps, 0.7, 31);
}

std::vector<double> p_values(const MixedModelProblem& problem, bool is_wald) {
  const auto null = fit_mixed_model(problem.data, LikelihoodKind::full);
  EXPECT_TRUE(null.has_converged);
  EXPECT_GT(null.canonical.ratios.front(), 0);
  SnpResults results;
  if (is_wald) {
    WaldTest(problem.data, null)
        .test(problem.rotated_snps.data(), problem.snps, results);
  } else {
    FixedVarianceTest(problem.data, null)
        .test(problem.rotated_snps.data(), problem.snps, results);
  }
  std::vector<double> p;
  for (const double value : results.log10_p) p.push_back(p_of_log10(value));
  return p;
}

void expect_same_p(const std::vector<double>& p, const std::vector<double>& of_gemma) {
  ASSERT_EQ(p.size(), of_gemma.size());
  for (std::size_t s = 0; s < p.size(); ++s) {
    EXPECT_NEAR(std::log10(p[s]), std::log10(of_gemma[s]), 1e-3) << s;
  }
}

TEST(AssociationTests, HaveThePValuesThatGemmaGave) {
  struct Known {
    std::int64_t traits;
    bool is_wald;
    std::vector<double> p_values;
  };
  // GEMMA 0.98.5, -lmm 3 and -lmm 1, on the same numbers.
  const std::vector<Known> known{Known{1,
                                       false,
                                       {4.478770e-08, 4.733565e-01, 8.162061e-01,
                                        1.140131e-01, 9.718074e-01, 7.612564e-01}},
                                 Known{1,
                                       true,
                                       {1.562418e-10, 4.758784e-01, 8.133171e-01,
                                        1.067925e-01, 9.732964e-01, 7.608040e-01}},
                                 Known{2,
                                       false,
                                       {6.817378e-11, 6.239824e-01, 9.390799e-01,
                                        2.390237e-01, 9.958865e-01, 8.986680e-01}},
                                 Known{2,
                                       true,
                                       {2.837544e-16, 6.111496e-01, 9.387612e-01,
                                        2.272828e-01, 9.963900e-01, 8.997736e-01}},
                                 Known{3,
                                       false,
                                       {3.588068e-12, 5.835678e-01, 4.515485e-02,
                                        3.998970e-01, 9.983421e-01, 8.115330e-01}},
                                 Known{3,
                                       true,
                                       {6.913665e-21, 5.602993e-01, 3.927601e-02,
                                        3.842143e-01, 9.983437e-01, 8.118664e-01}}};
  for (const auto& [traits, is_wald, of_gemma] : known) {
    SCOPED_TRACE(fmt::format("{} traits, {}", traits, is_wald ? "Wald" : "score"));
    expect_same_p(p_values(gemma_problem(traits), is_wald), of_gemma);
  }
}

/// Runs GEMMA on the files of a problem and gives the last column of its table.
class Gemma : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (std::system("command -v gemma > /dev/null") != 0) {
      GTEST_SKIP() << "gemma is not installed";
    }
  }

  static std::vector<double> run(const MixedModelProblem& problem, bool is_wald) {
    const TemporaryFolder folder;
    std::string genotypes, traits, relationship, columns;
    const auto n = static_cast<std::size_t>(problem.rows);
    for (std::int64_t s = 0; s < problem.snps; ++s) {
      genotypes += fmt::format("rs{}, A, G", s);
      for (std::size_t i = 0; i < n; ++i) {
        genotypes +=
            fmt::format(", {}", problem.genotypes[static_cast<std::size_t>(s) * n + i]);
      }
      genotypes += "\n";
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        relationship += fmt::format("{:.17g}\t", problem.relationship[j * n + i]);
      }
      relationship += "\n";
      for (std::int64_t t = 0; t < problem.traits; ++t) {
        traits += fmt::format(
            "{:.17g}\t",
            problem.trait_columns.values[static_cast<std::size_t>(t) * n + i]);
      }
      traits += "\n";
    }
    for (std::int64_t t = 1; t <= problem.traits; ++t) columns += fmt::format(" {}", t);
    folder.write("g.txt", genotypes);
    folder.write("p.txt", traits);
    folder.write("k.txt", relationship);
    const auto command = fmt::format(
        "cd {} && OPENBLAS_NUM_THREADS=1 gemma -g g.txt -p p.txt -k k.txt -lmm {} -n{} "
        "-o t > /dev/null 2> /dev/null",
        folder.path(), is_wald ? 1 : 3, columns);
    if (std::system(command.c_str()) != 0) return {};
    std::ifstream table(folder.path("output/t.assoc.txt"));
    std::vector<double> result;
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
      result.push_back(std::stod(line.substr(line.rfind('\t') + 1)));
    }
    return result;
  }
};

TEST_P(Gemma, HasTheSameScoreTests) {
  const auto problem = gemma_problem(GetParam());
  expect_same_p(p_values(problem, false), run(problem, false));
}

TEST_P(Gemma, HasTheSameWaldTests) {
  const auto problem = gemma_problem(GetParam());
  expect_same_p(p_values(problem, true), run(problem, true));
}

INSTANTIATE_TEST_SUITE_P(Traits, Gemma, testing::Values(1, 2, 3));

}  // namespace
}  // namespace kinflow
