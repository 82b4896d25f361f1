// Location and scale of columns, weighted and not.
#include "kinflow/flow/standardization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

const Array kData = nd::tensor({1.0, 2.0, 4.0, 5.0}, nd::kDouble).unsqueeze(1);

TEST(Standardization, OfEqualWeightsIsMeanAndDeviation) {
  const auto plain = Standardization::from(kData);
  EXPECT_DOUBLE_EQ(plain.mean.item<double>(), 3);
  EXPECT_DOUBLE_EQ(plain.deviation.item<double>(), std::sqrt(2.5));
  EXPECT_DOUBLE_EQ(plain.log_abs_det(nd::ones({1, 1}, nd::kDouble)).item<double>(),
                   -0.5 * std::log(2.5));
  EXPECT_LT((plain.undo(plain.apply(kData)) - kData).abs().max().item<double>(), 1e-15);
}

TEST(Standardization, WeightsCountRows) {
  const auto weights = nd::tensor({3.0, 1.0, 0.0, 0.0}, nd::kDouble);
  const auto weighted = Standardization::from(kData, weights);
  EXPECT_DOUBLE_EQ(weighted.mean.item<double>(), 1.25);
  EXPECT_DOUBLE_EQ(weighted.deviation.item<double>(),
                   std::sqrt((3 * 0.0625 + 0.5625) / 4));
}

TEST(Standardization, DecorrelatedColumnsHaveTheWeightedIdentityAsCovariance) {
  seed_numbers(1);
  const auto mix =
      nd::tensor({1.0, 0.0, 0.0, 30.0, 0.5, 0.0, -0.2, 0.01, 7.0}, nd::kDouble)
          .view({3, 3});
  const auto data = nd::mm(normal_array({200, 3}, nd::kDouble), mix) + 4;
  const auto weights = uniform_array({200}, nd::kDouble);
  const auto plain = Standardization::from(data, weights);
  const auto found = plain.decorrelated(data, weights);
  ASSERT_TRUE(found);
  const auto rows = found->apply(data);
  const auto covariance = nd::mm(rows.t(), rows * weights.unsqueeze(1)) / weights.sum();
  EXPECT_TRUE(nd::allclose(covariance, nd::eye(3, nd::kDouble), 0, 1e-12));
  EXPECT_TRUE(nd::allclose(found->undo(rows), data, 1e-12));
  // The change of volume by another road: that of the map as a matrix.
  const auto matrix = (found->apply(nd::eye(3, nd::kDouble)) -
                       found->apply(nd::zeros({3, 3}, nd::kDouble)));
  EXPECT_NEAR(found->log_abs_det(rows)[0].item<double>(),
              std::get<1>(nd::linalg_slogdet(matrix)).item<double>(), 1e-12);
}

TEST(Standardization, ColumnsThatSumToOneAnotherHaveNoDecorrelation) {
  const auto data =
      nd::tensor({1.0, 2.0, 2.0, 4.0, 7.0, 14.0}, nd::kDouble).view({3, 2});
  EXPECT_FALSE(Standardization::from(data).decorrelated(data));
}

TEST(Standardization, AMeanOutsideTheDataIsReplacedByThePlainOne) {
  const auto weights = nd::tensor({-3.0, 0.0, 0.0, 4.0}, nd::kDouble);
  const auto weighted = Standardization::from(kData, weights);
  EXPECT_DOUBLE_EQ(weighted.mean.item<double>(), 3);
  EXPECT_DOUBLE_EQ(weighted.deviation.item<double>(), 2);
}

// Of bounds, normal scores and a decorrelation together.
TEST(Standardization, OfBoundedColumnsChangesVolumesAsTheDifferencesSay) {
  Random random(3);
  auto data = nd::empty({400, 3}, nd::kDouble);
  for (std::int64_t i = 0; i < 400; ++i) {
    const double z = random.normal();
    data[i][0] = 18 + std::exp(z);
    data[i][1] = 1 / (1 + std::exp(random.normal() - z));
    data[i][2] = std::pow(random.normal() + z, 3);
  }
  const std::vector<ColumnBounds> bounds = {{.low = 18}, {.low = 0, .high = 1}, {}};
  const auto plain = Standardization::from(data, {}, bounds);
  const auto scored = plain.with_scores(data, nd::ones({400}, nd::kDouble), 400);
  ASSERT_TRUE(scored);
  const auto all = scored->decorrelated(data).value();
  for (const auto& by : {Standardization::none(3, bounds), plain, *scored, all}) {
    EXPECT_TRUE(nd::allclose(by.undo(by.apply(data)), data, 1e-9));
    const double h = 1e-6;
    for (const std::int64_t row : {0, 10, 77}) {
      const auto place = data.narrow(0, row, 1);
      std::vector<Array> steps;
      for (std::int64_t column = 0; column < 3; ++column) {
        auto moved = nd::zeros({1, 3}, nd::kDouble);
        moved[0][column] = h;
        steps.push_back((by.apply(place + moved) - by.apply(place - moved)) / (2 * h));
      }
      EXPECT_NEAR(by.log_abs_det(place).item<double>(),
                  std::get<1>(nd::linalg_slogdet(nd::cat(steps))).item<double>(), 1e-5);
    }
  }
  // Whatever the latents, rows stay inside; a row outside has density 0.
  const auto far = all.undo(normal_array({500, 3}, nd::kDouble) * 100);
  EXPECT_TRUE(far.select(1, 0).gt(18).all().item<bool>());
  EXPECT_TRUE(far.select(1, 1).gt(0).all().item<bool>());
  EXPECT_TRUE(far.select(1, 1).lt(1).all().item<bool>());
  const auto outside = nd::tensor({17.0, 0.5, 0.0}, nd::kDouble).view({1, 3});
  EXPECT_EQ(all.log_abs_det(outside).item<double>(), -HUGE_VAL);
}

TEST(Standardization, KeepsHugeAndTinyScalesInRange) {
  for (const double scale : {1e200, 1e-200}) {
    const auto extreme = Standardization::from(kData * scale);
    EXPECT_NEAR(extreme.deviation.item<double>() / scale, std::sqrt(2.5), 1e-12);
  }
}

TEST(SplineBound, OfManyRowsLiesBetweenFourAndTwelve) {
  constexpr double kMany = 1e12;
  const auto bound = [](double value) {
    return spline_bound_for(nd::tensor({0.1, value}, nd::kDouble), kMany);
  };
  EXPECT_EQ(bound(-0.5), 4);
  EXPECT_DOUBLE_EQ(bound(-6), 6.6);
  EXPECT_EQ(bound(100), 12);
}

TEST(SplineBound, OfRowsThatAreWorthFewReachesFurther) {
  const auto rows = nd::tensor({0.1, -6.0}, nd::kDouble);
  const double of_many = spline_bound_for(rows, 1e6);
  EXPECT_DOUBLE_EQ(of_many, 6.6);
  EXPECT_DOUBLE_EQ(spline_bound_for(rows, 6), 1.6 * of_many);
  EXPECT_DOUBLE_EQ(spline_bound_for(rows, 0), 1.6 * of_many);
  // The largest of 100 normal numbers is 1 / sqrt(2) of that of 10,000.
  EXPECT_DOUBLE_EQ(spline_bound_for(rows, 100), std::sqrt(2.0) * of_many);
}

}  // namespace
}  // namespace kinflow
