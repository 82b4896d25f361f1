// Where independent rows place latents: moments by hand, limits, and the map itself.
#include "kinflow/flow/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

/// With the same information for all replicas.
Calibration calibrated_by(const Array& latents, double information) {
  return calibrate(latents, nd::full({latents.size(0)}, information, nd::kDouble));
}

/// Latents of replicas, rows and columns, around a mean of 2 with a deviation of 3.
Array some_latents(nd::IntArrayRef shape, std::uint64_t seed = 4) {
  auto latents = nd::empty(shape, nd::kDouble);
  Random random(seed);
  auto* out = latents.data_ptr<double>();
  for (std::int64_t i = 0; i < latents.numel(); ++i) out[i] = 2 + 3 * random.normal();
  return latents;
}

TEST(Calibration, IsThePooledMomentsOfEveryReplicaAndColumn) {
  // Two replicas, three rows, two columns.
  const auto latents = nd::tensor({1.0, -1.0, 2.0, 0.0, 6.0, 1.0,  //
                                   4.0, 3.0, 4.0, 5.0, 7.0, 1.0},
                                  nd::kDouble)
                           .view({2, 3, 2});
  const auto found = calibrated_by(latents, 2);
  // Sums (9, 0), (15, 9) and sums of squares (41, 2), (81, 35), with two rows more
  // whose sum is 0 and whose squares sum to 2.
  const auto mean = nd::tensor({1.8, 0.0, 3.0, 1.8}, nd::kDouble).view({2, 2});
  const auto variance =
      nd::tensor({43 / 5.0 - 1.8 * 1.8, 4 / 5.0, 83 / 5.0 - 9, 37 / 5.0 - 1.8 * 1.8},
                 nd::kDouble)
          .view({2, 2});
  EXPECT_TRUE(nd::allclose(found.mean, mean, 1e-14, 1e-14)) << found.mean;
  EXPECT_TRUE(nd::allclose(found.deviation.square(), variance, 1e-14, 1e-14))
      << found.deviation;
}

TEST(Calibration, WithoutTrainingInformationIsThePlainMoments) {
  const auto latents = some_latents({2, 50, 3});
  const auto found = calibrated_by(latents, 0);
  EXPECT_TRUE(nd::allclose(found.mean, latents.mean(1), 1e-13));
  EXPECT_TRUE(nd::allclose(found.deviation, latents.std(1, /*unbiased=*/false), 1e-13));
  const auto placed =
      found.apply({.latents = latents, .log_abs_det = nd::zeros({2, 50}, nd::kDouble)});
  EXPECT_LT(placed.latents.mean(1).abs().max().item<double>(), 1e-13);
  EXPECT_TRUE(nd::allclose(placed.latents.square().mean(1),
                           nd::ones({2, 3}, nd::kDouble), 1e-12));
}

TEST(Calibration, OfStandardLatentsChangesNothingWhateverTheInformation) {
  const auto latents = nd::tensor({-1.0, 1.0, 1.0, -1.0}, nd::kDouble).view({1, 4, 1});
  for (const double information : {0.0, 0.3, 17.0, 1e9}) {
    const auto found = calibrated_by(latents, information);
    EXPECT_NEAR(found.mean.item<double>(), 0, 1e-15);
    EXPECT_NEAR(found.deviation.item<double>(), 1, 1e-15);
  }
}

TEST(Calibration, WithMuchTrainingInformationLeavesLatentsWhereTheyAre) {
  const auto latents = some_latents({1, 50, 2});
  double before = HUGE_VAL;
  for (const double information : {0.0, 10.0, 100.0, 1e4, 1e12}) {
    const auto found = calibrated_by(latents, information);
    const double moved =
        (found.mean.abs() + (found.deviation - 1).abs()).max().item<double>();
    EXPECT_LT(moved, before);
    before = moved;
  }
  EXPECT_LT(before, 1e-8);
}

TEST(Calibration, OfAFarMeanKeepsTheDigitsOfTheDeviation) {
  const auto latents =
      nd::tensor({1e9 - 1, 1e9 + 1, 1e9 + 1, 1e9 - 1}, nd::kDouble).view({1, 4, 1});
  EXPECT_DOUBLE_EQ(calibrated_by(latents, 0).deviation.item<double>(), 1);
}

TEST(Calibration, OfEqualLatentsHasADensity) {
  for (const double information : {0.0, 1e-300, 1.0}) {
    const auto found =
        calibrated_by(nd::full({1, 3, 1}, 2.5, nd::kDouble), information);
    EXPECT_GT(found.deviation.item<double>(), 0);
    EXPECT_TRUE(std::isfinite(found.deviation.item<double>()));
  }
}

TEST(Calibration, MapsThereAndBackWithTheLogDeterminantOfTheMap) {
  const Calibration calibration{
      .mean = nd::tensor({0.5, -2.0, 3.0, 0.0}, nd::kDouble).view({2, 2}),
      .deviation = nd::tensor({2.0, 0.25, 1.0, 10.0}, nd::kDouble).view({2, 2})};
  const LatentResult own{.latents = some_latents({2, 20, 2}),
                         .log_abs_det = some_latents({2, 20}, 9)};
  const auto placed = calibration.apply(own);
  EXPECT_DOUBLE_EQ(placed.latents[0][3][1].item<double>(),
                   (own.latents[0][3][1].item<double>() + 2) / 0.25);
  EXPECT_NEAR(placed.log_abs_det[0][3].item<double>(),
              own.log_abs_det[0][3].item<double>() - std::log(0.5), 1e-14);
  EXPECT_NEAR(placed.log_abs_det[1][3].item<double>(),
              own.log_abs_det[1][3].item<double>() - std::log(10.0), 1e-14);
  EXPECT_TRUE(nd::allclose(calibration.undo(placed.latents), own.latents, 0, 1e-13));
}

// Numbers are taken in vectors: a replica's place in them must not matter.
TEST(Calibration, OfAReplicaDoesNotKnowTheOthersBitForBit) {
  for (const std::int64_t columns : {1, 2, 3, 5}) {
    const auto latents = some_latents({7, 33, columns});
    const LatentResult all{.latents = latents, .log_abs_det = some_latents({7, 33}, 8)};
    const auto many = calibrated_by(latents, 4.5);
    const auto placed = many.apply(all);
    for (std::int64_t r = 0; r < 7; ++r) {
      const auto alone = calibrated_by(latents.narrow(0, r, 1), 4.5);
      const auto placed_alone =
          alone.apply({.latents = latents.narrow(0, r, 1),
                       .log_abs_det = all.log_abs_det.narrow(0, r, 1)});
      EXPECT_TRUE(nd::equal(alone.mean, many.mean.narrow(0, r, 1)));
      EXPECT_TRUE(nd::equal(alone.deviation, many.deviation.narrow(0, r, 1)));
      EXPECT_TRUE(nd::equal(placed_alone.latents, placed.latents.narrow(0, r, 1)));
      EXPECT_TRUE(
          nd::equal(placed_alone.log_abs_det, placed.log_abs_det.narrow(0, r, 1)));
    }
  }
}

TEST(Calibration, OfSomeReplicasKeepsTheOrderThatIsAsked) {
  const auto all = calibrated_by(some_latents({4, 9, 2}), 1);
  const auto some = all.of_replicas({3, 0});
  EXPECT_TRUE(nd::equal(some.mean[0], all.mean[3]));
  EXPECT_TRUE(nd::equal(some.deviation[1], all.deviation[0]));
}

}  // namespace
}  // namespace kinflow
