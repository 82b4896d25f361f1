// Scores of a model of images.
#include "kinflow/evaluate/image_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/statistics/bits_per_dimension.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

Array images(std::int64_t n, std::uint64_t seed) { return uniform({n, 3, 8, 8}, seed); }

TEST(BitsPerDimension, OfAUniformLawOn8BitImagesIs8) {
  const std::int64_t dimensions = 3 * 32 * 32;
  const double log_density = -dimensions * std::log(256.0);
  EXPECT_DOUBLE_EQ(bits_per_dimension(log_density, dimensions), 8);
  EXPECT_DOUBLE_EQ(bits_per_dimension(-dimensions * std::log(32.0), dimensions), 5);
}

TEST(BitsPerDimension, OfAnIdealLawIsItsEntropy) {
  // A value is even with probability 1/4 and odd otherwise, uniform among each.
  const double even = std::log(0.25 / 128), odd = std::log(0.75 / 128);
  const double entropy = 7 - 0.25 * std::log2(0.25) - 0.75 * std::log2(0.75);
  EXPECT_NEAR(bits_per_dimension(0.25 * even + 0.75 * odd, 1), entropy, 1e-12);
}

TEST(ImageLikelihood, IsTheMeanOverImages) {
  const auto scores = image_likelihood(nd::tensor({-10.0, -30.0}, nd::kDouble), 12);
  EXPECT_EQ(scores.images, 2);
  EXPECT_DOUBLE_EQ(scores.mean_nll_nats, 20);
  EXPECT_DOUBLE_EQ(scores.bits_per_dimension, 20 / std::numbers::ln2 / 12);
}

TEST(ImageLikelihood, NamesTheImageWhoseDensityIsNotFinite) {
  auto density = nd::zeros({5}, nd::kDouble);
  density[2] = -std::numeric_limits<double>::infinity();
  try {
    image_likelihood(density, 3);
    FAIL() << "expected a NumericalError";
  } catch (const NumericalError& error) {
    EXPECT_NE(std::string(error.what()).find("image 3"), std::string::npos);
  }
  EXPECT_THROW(image_likelihood(nd::zeros({0}), 3), InputError);
  EXPECT_THROW(image_likelihood(nd::zeros({2, 2}), 3), InputError);
}

TEST(ImageDistances, OfTheSameImagesAreZeroAndOneAndGrowWithDifference) {
  const auto real = images(200, 1);
  const auto own = image_distances(built_in_features(real, real));
  EXPECT_EQ(own.features, "kinflow-features-1");
  EXPECT_EQ(own.real_images, 200);
  EXPECT_NEAR(own.frechet, 0, 1e-4);
  EXPECT_NEAR(own.prd.f_8, 1, 1e-6);
  EXPECT_NEAR(own.prd.f_one_8th, 1, 1e-6);
  EXPECT_EQ(own.prd_curve.precision.size(), 1001U);
  const auto other = image_distances(built_in_features(real, images(150, 2) * 0.5));
  EXPECT_EQ(other.generated_images, 150);
  EXPECT_GT(other.frechet, 10);
  EXPECT_LT(other.prd.f_8, 0.1);
}

TEST(ImageDistances, ImagesOfDifferentSizesOrTooFewAreRefused) {
  EXPECT_THROW(built_in_features(images(30, 1), uniform({30, 3, 8, 9}, 2)), InputError);
  EXPECT_THROW(built_in_features(images(30, 1), uniform({30, 1, 8, 8}, 2)), InputError);
  EXPECT_THROW(image_distances(built_in_features(images(30, 1), images(10, 2))),
               InputError);
}

}  // namespace
}  // namespace kinflow
