// Quantiles of the normal distribution against those of the chi-squared distribution.
#include "kinflow/statistics/normal_quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kinflow/statistics/chi_squared.h"

namespace kinflow {
namespace {

TEST(NormalQuantile, IsTheRootOfTheChiSquaredOne) {
  for (const double tail : {1e-12, 1e-6, 0.01, 0.2, 0.4999, 0.5}) {
    const double distance = std::sqrt(inverse_chi_squared_tail(2 * tail, 1));
    EXPECT_NEAR(normal_quantile(tail), -distance, 1e-13 * (1 + distance)) << tail;
    EXPECT_NEAR(normal_quantile(1 - tail), distance, 1e-4 * (tail < 1e-9) + 1e-9)
        << tail;
  }
}

TEST(NormalQuantile, GoesBackByTheTailWhereThatIsSmall) {
  for (const double tail : {1e-300, 1e-100, 1e-20}) {
    const double z = normal_quantile(tail);
    EXPECT_NEAR(0.5 * std::erfc(-z / std::numbers::sqrt2) / tail, 1, 1e-10) << tail;
  }
}

}  // namespace
}  // namespace kinflow
