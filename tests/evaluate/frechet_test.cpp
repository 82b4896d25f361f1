// Frechet distances against closed forms.
#include "kinflow/evaluate/frechet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

// Rows whose mean and covariance are exactly 0 and I.
Array white(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  const auto raw = normal({rows, columns}, seed);
  const auto centred = raw - raw.mean(0);
  const auto orthonormal = std::get<0>(nd::linalg_qr(centred));
  return orthonormal * std::sqrt(static_cast<double>(rows - 1));
}

Array numbers(const std::vector<double>& values) {
  return nd::tensor(values, nd::kDouble);
}

TEST(Frechet, OfOneColumnIsTheDistanceOfMeansAndDeviations) {
  const auto first = numbers({-1, 1, -1, 1}).unsqueeze(1);  // deviation 2 / sqrt(3)
  const auto second = first * 3 + 5;
  EXPECT_NEAR(frechet_distance(first, second), 25 + 4 * 4.0 / 3, 1e-12);
}

TEST(Frechet, MatchesTheClosedFormOfDiagonalCovariances) {
  const auto mean = numbers({1, -2, 0, 4}), other_mean = numbers({0, 1, 0, 3});
  const auto deviation = numbers({1, 2, 0.5, 3}), other = numbers({2, 2, 0.1, 0.7});
  const auto first = white(50, 4, 1) * deviation + mean;
  const auto second = white(70, 4, 2) * other + other_mean;
  const double expected =
      ((mean - other_mean).square().sum() + (deviation - other).square().sum())
          .item<double>();
  EXPECT_NEAR(frechet_distance(first, second), expected, 1e-10);
}

TEST(Frechet, MatchesTheTraceOfARootByEigenvaluesOfTheProduct) {
  const auto a = nd::mm(normal({5, 5}, 3), white(40, 5, 4).t()).t();
  const auto b = nd::mm(normal({5, 5}, 5), white(40, 5, 6).t()).t();
  const auto covariance = [](const Array& rows) { return nd::mm(rows.t(), rows) / 39; };
  // With A = LL', AB has the eigenvalues of L'BL.
  const auto lower = nd::linalg_cholesky(covariance(a));
  const auto values =
      nd::linalg_eigvalsh(nd::mm(nd::mm(lower.t(), covariance(b)), lower));
  const double expected = (covariance(a).trace() + covariance(b).trace() -
                           2 * values.clamp_min(0).sqrt().sum())
                              .item<double>();
  EXPECT_NEAR(frechet_distance(a, b), expected, 1e-9);
}

TEST(Frechet, OfASetToItselfIsZeroAlsoWithFewerRowsThanColumns) {
  for (const std::int64_t rows : {2, 20, 300}) {
    const auto set = normal({rows, 60}, 7) * nd::arange(1, 61, nd::kDouble);
    EXPECT_NEAR(frechet_distance(set, set), 0, 1e-6 * set.var(0).sum().item<double>());
  }
}

TEST(Frechet, IsSymmetricAndRotationsChangeNothing) {
  const auto a = normal({30, 12}, 8) * nd::arange(1, 13, nd::kDouble);
  const auto b = normal({9, 12}, 9) + 0.5;  // fewer rows than columns
  const double distance = frechet_distance(a, b);
  EXPECT_GT(distance, 1);
  EXPECT_NEAR(frechet_distance(b, a), distance, 1e-6 * distance);
  const auto rotation = std::get<0>(nd::linalg_qr(normal({12, 12}, 10)));
  EXPECT_NEAR(frechet_distance(nd::mm(a, rotation), nd::mm(b, rotation)), distance,
              1e-6 * distance);
}

TEST(Frechet, SetsWithoutVarianceAreAsFarApartAsTheirMeans) {
  const auto a = nd::ones({3, 4}, nd::kDouble), b = 3 * nd::ones({5, 4}, nd::kDouble);
  EXPECT_DOUBLE_EQ(frechet_distance(a, b), 16);
  const auto spread = white(10, 4, 1);
  EXPECT_NEAR(frechet_distance(a, spread), 4 + 4, 1e-10);
}

TEST(Frechet, ScalesWithTheSquareAlsoOfTinyAndHugeFeatures) {
  const auto a = normal({40, 6}, 11), b = normal({40, 6}, 12) * 2 + 1;
  const double distance = frechet_distance(a, b);
  for (const double scale : {1e-100, 1e-12, 1e12, 1e100}) {
    EXPECT_NEAR(frechet_distance(a * scale, b * scale) / scale / scale, distance,
                1e-9 * distance);
  }
}

TEST(Frechet, BadFeaturesAreRefused) {
  const auto good = normal({10, 3}, 13);
  auto with_nan = good.clone();
  with_nan[4][1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(frechet_distance(good, with_nan), InputError);
  EXPECT_THROW(frechet_distance(good.narrow(0, 0, 1), good), InputError);
  EXPECT_THROW(frechet_distance(good, normal({10, 4}, 14)), InputError);
  EXPECT_THROW(frechet_distance(good.flatten(), good), InputError);
  EXPECT_THROW(frechet_distance(good, good.to(nd::kLong)), InputError);
  EXPECT_THROW(frechet_distance(good * 1e200, good), NumericalError);
}

}  // namespace
}  // namespace kinflow
