// Genomic inflation of uniform, inflated and incomplete p-values.
#include "kinflow/genetics/inflation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kinflow/core/chi_squared.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "tests/core/not_finite.h"

namespace kinflow {
namespace {

TEST(GenomicInflation, OfUniformPValuesIsOne) {
  Random random(3);
  std::vector<double> p(100'000);
  for (double& value : p) value = random.uniform();
  for (const double degrees : {1.0, 2.0, 6.0, 12.0}) {
    EXPECT_NEAR(genomic_inflation(p, degrees), 1, 0.02) << degrees;
  }
}

TEST(GenomicInflation, IsTheFactorOfTheStatistics) {
  for (const double degrees : {1.0, 4.0}) {
    Random random(4);
    std::vector<double> p(20'001);
    for (std::size_t i = 0; i < p.size(); ++i) {
      // Evenly spread, so that the median is exact.
      const double uniform = (static_cast<double>(i) + 0.5) / 20'001;
      p[i] =
          chi_squared_tail(1.25 * inverse_chi_squared_tail(uniform, degrees), degrees);
    }
    EXPECT_NEAR(genomic_inflation(p, degrees), 1.25, 1e-9) << degrees;
  }
}

TEST(GenomicInflation, TakesTheMeanOfTwoMiddleStatistics) {
  // qchisq(0.2, 1, lower = FALSE) and qchisq(0.6, ...) over qchisq(0.5, ...) of R.
  EXPECT_NEAR(genomic_inflation(std::vector<double>{0.2, kNan, 0.6}),
              0.5 * (1.6423744151498177 + 0.2749958978979556) / 0.4549364231195727,
              1e-9);
  EXPECT_NEAR(genomic_inflation(std::vector<double>{0.9, 0.2, 1e-12}),
              1.6423744151498177 / 0.4549364231195727, 1e-9);
}

TEST(GenomicInflation, OfNoPValuesIsNotANumber) {
  EXPECT_TRUE(std::isnan(genomic_inflation(std::vector<double>{})));
  EXPECT_TRUE(std::isnan(genomic_inflation(std::vector<double>{kNan})));
  EXPECT_THROW(genomic_inflation(std::vector<double>{1.5}), InputError);
}

}  // namespace
}  // namespace kinflow
