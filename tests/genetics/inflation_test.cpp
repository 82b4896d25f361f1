// Genomic inflation of uniform, inflated and incomplete p-values.
#include "kinflow/genetics/inflation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/statistics/chi_squared.h"
#include "kinflow/statistics/p_value.h"
#include "tests/core/not_finite.h"

namespace kinflow {
namespace {

TEST(GenomicInflation, OfUniformPValuesIsOne) {
  Random random(3);
  std::vector<double> log10_p(100'000);
  for (double& value : log10_p) value = log10_p_of(random.uniform());
  for (const double degrees : {1.0, 2.0, 6.0, 12.0}) {
    EXPECT_NEAR(genomic_inflation(log10_p, degrees), 1, 0.02) << degrees;
  }
}

TEST(GenomicInflation, IsTheFactorOfTheStatistics) {
  for (const double degrees : {1.0, 4.0}) {
    Random random(4);
    std::vector<double> log10_p(20'001);
    for (std::size_t i = 0; i < log10_p.size(); ++i) {
      // Evenly spread, so that the median is exact.
      const double uniform = (static_cast<double>(i) + 0.5) / 20'001;
      log10_p[i] = log10_p_of(
          chi_squared_tail(1.25 * inverse_chi_squared_tail(uniform, degrees), degrees));
    }
    EXPECT_NEAR(genomic_inflation(log10_p, degrees), 1.25, 1e-9) << degrees;
  }
}

TEST(GenomicInflation, TakesTheMeanOfTwoMiddleStatistics) {
  // qchisq(0.2, 1, lower = FALSE) and qchisq(0.6, ...) over qchisq(0.5, ...) of R.
  EXPECT_NEAR(
      genomic_inflation(std::vector<double>{log10_p_of(0.2), kNan, log10_p_of(0.6)}),
      0.5 * (1.6423744151498177 + 0.2749958978979556) / 0.4549364231195727, 1e-9);
  EXPECT_NEAR(
      genomic_inflation(std::vector<double>{log10_p_of(0.9), log10_p_of(0.2), 12}),
      1.6423744151498177 / 0.4549364231195727, 1e-9);
}

TEST(GenomicInflation, OfPValuesBelowTheSmallestNumber) {
  // The statistic with the probability 10^-1000 is from mpmath.
  EXPECT_NEAR(genomic_inflation(std::vector<double>{1000.0}),
              4596.28516470189052 / 0.4549364231195727, 1e-7);
}

TEST(GenomicInflation, OfNoPValuesIsNotANumber) {
  EXPECT_TRUE(std::isnan(genomic_inflation(std::vector<double>{})));
  EXPECT_TRUE(std::isnan(genomic_inflation(std::vector<double>{kNan})));
  EXPECT_THROW(genomic_inflation(std::vector<double>{-1.5}), InputError);
}

}  // namespace
}  // namespace kinflow
