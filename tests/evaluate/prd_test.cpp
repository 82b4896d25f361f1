// Precision-recall curves in closed form, and of sets of features.
#include "kinflow/evaluate/prd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

Array cloud(std::int64_t rows, double center, std::uint64_t seed) {
  return normal({rows, 8}, seed) + center;
}

TEST(PrdCurve, OfEqualLawsReachesPrecisionAndRecallOne) {
  const auto curve = prd_curve({0.2, 0.5, 0.3}, {2, 5, 3});
  ASSERT_EQ(curve.precision.size(), 1001U);
  EXPECT_NEAR(curve.precision[500], 1, 1e-9);
  EXPECT_NEAR(curve.recall[500], 1, 1e-9);
  for (const double beta : {8.0, 4.0, 1.0, 0.25, 0.125}) {
    EXPECT_NEAR(best_f_score(curve, beta), 1, 1e-9);
  }
}

TEST(PrdCurve, OfLawsWithoutCommonClustersIsZero) {
  const auto curve = prd_curve({1, 1, 0}, {0, 0, 3});
  EXPECT_EQ(*std::max_element(curve.precision.begin(), curve.precision.end()), 0);
  EXPECT_EQ(*std::max_element(curve.recall.begin(), curve.recall.end()), 0);
  EXPECT_EQ(best_f_score(curve, 8), 0);
}

// P = (1/2, 1/2) and Q = (1/4, 3/4): precision is s up to slope 1/2, 1/4 + s/2 up to
// 3/2, then 1.
TEST(PrdCurve, OfTwoClustersIsTheClosedForm) {
  const auto curve = prd_curve({1, 1}, {1, 3}, 91);
  for (int degrees = 1; degrees < 90; ++degrees) {
    const double slope = std::tan(degrees * std::acos(-1.0) / 180);
    const double precision = slope <= 0.5 ? slope : slope <= 1.5 ? 0.25 + slope / 2 : 1;
    const auto i = static_cast<std::size_t>(degrees);
    EXPECT_NEAR(curve.precision[i], precision, 1e-8) << degrees;
    EXPECT_NEAR(curve.recall[i], precision / slope, 1e-8) << degrees;
  }
}

TEST(PrdCurve, ADroppedModeLowersRecallAndKeepsPrecision) {
  const auto scores = prd_scores(prd_curve({1, 1}, {1, 0}));
  // Precision 1 and recall 1/2 at slope 2: the best for every beta.
  EXPECT_NEAR(scores.f_one_8th, (1 + 1.0 / 64) * 0.5 / (1.0 / 64 + 0.5), 1e-4);
  EXPECT_NEAR(scores.f_8, 65 * 0.5 / (64 + 0.5), 1e-2);
  EXPECT_NEAR(scores.f_4, 17 * 0.5 / (16 + 0.5), 1e-2);
  EXPECT_GT(scores.f_one_8th, 0.98);
  EXPECT_LT(scores.f_8, 0.52);
}

TEST(PrdCurve, AnInventedModeLowersPrecisionAndKeepsRecall) {
  const auto dropped = prd_scores(prd_curve({1, 1}, {1, 0}));
  const auto invented = prd_scores(prd_curve({1, 0}, {1, 1}));
  EXPECT_NEAR(invented.f_8, dropped.f_one_8th, 1e-6);
  EXPECT_NEAR(invented.f_one_8th, dropped.f_8, 1e-6);
  EXPECT_NEAR(invented.f_4, dropped.f_one_4th, 1e-6);
  EXPECT_NEAR(invented.f_one_4th, dropped.f_4, 1e-6);
}

TEST(PrdCurve, BadWeightsAreRefused) {
  EXPECT_THROW(prd_curve({1, 1}, {1}), InputError);
  EXPECT_THROW(prd_curve({}, {}), InputError);
  EXPECT_THROW(prd_curve({1, -1}, {1, 1}), InputError);
  EXPECT_THROW(prd_curve({0, 0}, {1, 1}), InputError);
  EXPECT_THROW(prd_curve({1, std::numeric_limits<double>::quiet_NaN()}, {1, 1}),
               InputError);
  EXPECT_THROW(prd_curve({1}, {1}, 2), InputError);
  EXPECT_THROW(best_f_score({{0.5}, {0.5}}, 0), InputError);
}

TEST(PrecisionRecall, OfTwoSamplesOfOneLawIsNearOne) {
  const auto scores =
      prd_scores(precision_recall(cloud(2000, 0, 1), cloud(2000, 0, 2)));
  EXPECT_GT(scores.f_8, 0.97);
  EXPECT_GT(scores.f_one_8th, 0.97);
  EXPECT_GT(scores.f_4, 0.95);
  EXPECT_GT(scores.f_one_4th, 0.95);
}

TEST(PrecisionRecall, OfSetsThatAreFarApartIsZero) {
  const auto scores = prd_scores(precision_recall(cloud(200, 0, 1), cloud(200, 50, 2)));
  EXPECT_EQ(scores.f_8, 0);
  EXPECT_EQ(scores.f_one_8th, 0);
}

TEST(PrecisionRecall, AModeThatIsNotGeneratedCostsRecallOnly) {
  const auto real = nd::cat({cloud(500, 0, 1), cloud(500, 50, 2)});
  const auto scores = prd_scores(precision_recall(real, cloud(1000, 0, 3)));
  EXPECT_GT(scores.f_one_8th, 0.9);
  EXPECT_NEAR(scores.f_8, 0.5, 0.03);
  const auto reverse = prd_scores(precision_recall(cloud(1000, 0, 3), real));
  EXPECT_GT(reverse.f_8, 0.9);
  EXPECT_NEAR(reverse.f_one_8th, 0.5, 0.03);
}

TEST(PrecisionRecall, SetsOfDifferentSizesCountAlike) {
  const auto real = nd::cat({cloud(3000, 0, 1), cloud(3000, 50, 2)});
  const auto scores = prd_scores(precision_recall(real, cloud(400, 0, 3)));
  EXPECT_NEAR(scores.f_8, 0.5, 0.05);
  EXPECT_GT(scores.f_one_8th, 0.85);
}

TEST(PrecisionRecall, SeedsDecide) {
  const auto real = cloud(300, 0, 1), generated = cloud(300, 0.5, 2);
  const auto run = [&](std::uint64_t seed) {
    return precision_recall(real, generated, {.clusterings = 2, .seed = seed})
        .precision;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(PrecisionRecall, BadFeaturesAreRefused) {
  auto with_nan = cloud(50, 0, 1);
  with_nan[3][2] = std::numeric_limits<double>::quiet_NaN();
  const auto good = cloud(50, 0, 2);
  EXPECT_THROW(precision_recall(good, with_nan), InputError);
  EXPECT_THROW(precision_recall(good, cloud(19, 0, 3)), InputError);
  EXPECT_THROW(precision_recall(good, good.narrow(1, 0, 3)), InputError);
  EXPECT_THROW(precision_recall(good.flatten(), good), InputError);
  EXPECT_THROW(precision_recall(good, good, {.clusterings = 0}), InputError);
}

}  // namespace
}  // namespace kinflow
