// Frechet distances against closed forms.
#include "kinflow/evaluate/frechet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

at::Tensor normal(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn({rows, columns}, generator, at::TensorOptions(at::kDouble));
}

// Rows whose mean and covariance are exactly 0 and I.
at::Tensor white(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  const auto raw = normal(rows, columns, seed);
  const auto centred = raw - raw.mean(0);
  const auto orthonormal = std::get<0>(at::linalg_qr(centred));
  return orthonormal * std::sqrt(static_cast<double>(rows - 1));
}

at::Tensor numbers(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble);
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
  const auto a = at::mm(normal(5, 5, 3), white(40, 5, 4).t()).t();
  const auto b = at::mm(normal(5, 5, 5), white(40, 5, 6).t()).t();
  const auto covariance = [](const at::Tensor& rows) {
    return at::mm(rows.t(), rows) / 39;
  };
  // Eigenvalues of AB are those of A^1/2 B A^1/2.
  const auto values =
      at::real(at::linalg_eigvals(at::mm(covariance(a), covariance(b))));
  const double expected = (covariance(a).trace() + covariance(b).trace() -
                           2 * values.clamp_min(0).sqrt().sum())
                              .item<double>();
  EXPECT_NEAR(frechet_distance(a, b), expected, 1e-9);
}

TEST(Frechet, OfASetToItselfIsZeroAlsoWithFewerRowsThanColumns) {
  for (const std::int64_t rows : {2, 20, 300}) {
    const auto set = normal(rows, 60, 7) * at::arange(1, 61, at::kDouble);
    EXPECT_NEAR(frechet_distance(set, set), 0, 1e-6 * set.var(0).sum().item<double>());
  }
}

TEST(Frechet, IsSymmetricAndRotationsChangeNothing) {
  const auto a = normal(30, 12, 8) * at::arange(1, 13, at::kDouble);
  const auto b = normal(9, 12, 9) + 0.5;  // fewer rows than columns
  const double distance = frechet_distance(a, b);
  EXPECT_GT(distance, 1);
  EXPECT_NEAR(frechet_distance(b, a), distance, 1e-6 * distance);
  const auto rotation = std::get<0>(at::linalg_qr(normal(12, 12, 10)));
  EXPECT_NEAR(frechet_distance(at::mm(a, rotation), at::mm(b, rotation)), distance,
              1e-6 * distance);
}

TEST(Frechet, SetsWithoutVarianceAreAsFarApartAsTheirMeans) {
  const auto a = at::ones({3, 4}, at::kDouble), b = 3 * at::ones({5, 4}, at::kDouble);
  EXPECT_DOUBLE_EQ(frechet_distance(a, b), 16);
  const auto spread = white(10, 4, 1);
  EXPECT_NEAR(frechet_distance(a, spread), 4 + 4, 1e-10);
}

TEST(Frechet, ScalesWithTheSquareAlsoOfTinyAndHugeFeatures) {
  const auto a = normal(40, 6, 11), b = normal(40, 6, 12) * 2 + 1;
  const double distance = frechet_distance(a, b);
  for (const double scale : {1e-100, 1e-12, 1e12, 1e100}) {
    EXPECT_NEAR(frechet_distance(a * scale, b * scale) / scale / scale, distance,
                1e-9 * distance);
  }
}

TEST(Frechet, BadFeaturesAreRefused) {
  const auto good = normal(10, 3, 13);
  auto with_nan = good.clone();
  with_nan[4][1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(frechet_distance(good, with_nan), InputError);
  EXPECT_THROW(frechet_distance(good.narrow(0, 0, 1), good), InputError);
  EXPECT_THROW(frechet_distance(good, normal(10, 4, 14)), InputError);
  EXPECT_THROW(frechet_distance(good.flatten(), good), InputError);
  EXPECT_THROW(frechet_distance(good, good.to(at::kLong)), InputError);
  EXPECT_THROW(frechet_distance(good * 1e200, good), NumericalError);
}

}  // namespace
}  // namespace kinflow
