// Simulated images: their law, their imbalance, and the bias that it brings.
#include "kinflow/images/simulate_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

std::vector<std::int64_t> sizes_of(const ImageSet& set) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(set.people()));
  for (const auto p : set.person) ++sizes[static_cast<std::size_t>(p)];
  return sizes;
}

/// Weighted mean of every pixel.
std::vector<double> mean_image(const ImageSet& set,
                               const std::vector<double>& weights) {
  std::vector<double> mean(static_cast<std::size_t>(set.dimension()));
  double total = 0;
  for (std::int64_t i = 0; i < set.images(); ++i) {
    const double weight = weights[static_cast<std::size_t>(i)];
    const auto pixels = set.pixels_of(i);
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += weight * pixels[k];
    total += weight;
  }
  for (auto& value : mean) value /= total;
  return mean;
}

std::vector<double> plain_mean(const ImageSet& set) {
  return mean_image(set, std::vector<double>(set.person.size(), 1.0));
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

/// Mean over pixels of the variance around the mean image.
double variance(const ImageSet& set) {
  const auto mean = plain_mean(set);
  double sum = 0;
  for (std::int64_t i = 0; i < set.images(); ++i) {
    const auto pixels = set.pixels_of(i);
    for (std::size_t k = 0; k < mean.size(); ++k) {
      sum += (pixels[k] - mean[k]) * (pixels[k] - mean[k]);
    }
  }
  return sum / static_cast<double>(set.images() * set.dimension());
}

/// Mean over pixels and people of the variance within a person.
double variance_within_people(const ImageSet& set) {
  double sum = 0;
  std::int64_t freedom = 0;
  for (std::int64_t p = 0; p < set.people(); ++p) {
    std::vector<std::int64_t> own;
    for (std::int64_t i = 0; i < set.images(); ++i) {
      if (set.person[static_cast<std::size_t>(i)] == p) own.push_back(i);
    }
    const auto part = select_images(set, own);
    sum += variance(part) * static_cast<double>(own.size());
    freedom += std::ssize(own) - 1;
  }
  return sum / static_cast<double>(freedom);
}

TEST(SimulateImages, TheSeedDecidesEverything) {
  const SimulateImagesOptions options{.images = 50,
                                      .valid_images = 5,
                                      .test_images = 6,
                                      .largest_person = 20,
                                      .seed = 3};
  const auto first = simulate_images(options), again = simulate_images(options);
  EXPECT_EQ(first.train.pixels, again.train.pixels);
  EXPECT_EQ(first.train.person, again.train.person);
  EXPECT_EQ(first.test.pixels, again.test.pixels);
  auto other = options;
  other.seed = 4;
  EXPECT_NE(simulate_images(other).train.pixels, first.train.pixels);
  EXPECT_EQ(first.train.images(), 50);
  EXPECT_EQ(first.valid.images(), 5);
  EXPECT_EQ(first.test.people(), 6);
  EXPECT_NE(balanced_images(options, 5, 0).pixels, first.valid.pixels);
  EXPECT_NE(balanced_images(options, 5, 0).pixels,
            balanced_images(options, 5, 1).pixels);
}

TEST(SimulateImages, AFewPeopleHaveMostOfTheImages) {
  const auto train = simulate_images({.images = 4000, .seed = 1}).train;
  auto sizes = sizes_of(train);
  std::sort(sizes.rbegin(), sizes.rend());
  EXPECT_EQ(sizes.front(), 200);
  EXPECT_EQ(sizes.back(), 1);
  const auto tenth = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 10);
  EXPECT_GT(std::accumulate(sizes.begin(), tenth, std::int64_t{0}), 2000);
  EXPECT_GT(sizes.size(), 80u);
}

TEST(SimulateImages, ThereAreAlwaysTwoPeople) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto set = simulate_images({.images = 3,
                                      .valid_images = 1,
                                      .test_images = 1,
                                      .largest_person = 100,
                                      .seed = seed})
                         .train;
    EXPECT_GE(set.people(), 2);
  }
}

TEST(SimulateImages, ValuesSpreadAndHardlyEverHitTheirBounds) {
  for (const bool rgb : {false, true}) {
    const auto set = balanced_images({.rgb = rgb}, 2000, 0);
    EXPECT_EQ(set.channels, rgb ? 3 : 1);
    const auto bounded = std::count_if(set.pixels.begin(), set.pixels.end(),
                                       [](auto v) { return v == 0 || v == 255; });
    EXPECT_LT(static_cast<double>(bounded),
              1e-4 * static_cast<double>(set.pixels.size()));
    EXPECT_GT(std::sqrt(variance(set)), 15);
    EXPECT_LT(std::sqrt(variance(set)), 50);
  }
}

TEST(SimulateImages, IdentityExplainsItsShareOfTheVariance) {
  for (const double share : {0.0, 0.7, 1.0}) {
    const SimulateImagesOptions options{
        .images = 6000, .identity_share = share, .largest_person = 30, .seed = 2};
    const double explained =
        1 - variance_within_people(simulate_images(options).train) /
                variance(balanced_images(options, 4000, 0));
    // Pixels bend the numbers behind them a little.
    EXPECT_NEAR(explained, share, 0.06) << share;
  }
}

TEST(SimulateImages, TheLawOfOneImageDoesNotDependOnTheShare) {
  SimulateImagesOptions options{.identity_share = 0.1};
  const auto low = balanced_images(options, 4000, 0);
  options.identity_share = 0.9;
  options.seed = 1;
  const auto high = balanced_images(options, 4000, 0);
  const auto a = plain_mean(low), b = plain_mean(high);
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 3.5);
  EXPECT_NEAR(variance(high) / variance(low), 1, 0.05);
}

// The reason why the data exist: what counts every image alike is drawn to the people
// with many images, and what knows the correlation within people is not.
TEST(SimulateImages, CountingImagesIsBiasedAndWeighingPeopleIsNot) {
  int better = 0;
  double plain_error = 0, weighted_error = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const SimulateImagesOptions options{.valid_images = 1, .seed = seed};
    const auto simulation = simulate_images(options);
    const auto truth = plain_mean(balanced_images(options, 4000, 0));
    const auto sizes = sizes_of(simulation.train);
    std::vector<double> weights;  // rows of C^-1 1 under equal correlation
    for (const auto p : simulation.train.person) {
      const auto size = static_cast<double>(sizes[static_cast<std::size_t>(p)]);
      weights.push_back(1 / (1 + (size - 1) * options.identity_share));
    }
    const double plain = squared_distance(plain_mean(simulation.train), truth);
    const double weighted =
        squared_distance(mean_image(simulation.train, weights), truth);
    better += weighted < plain;
    plain_error += plain;
    weighted_error += weighted;
  }
  EXPECT_GE(better, 9);
  EXPECT_GT(plain_error, 2 * weighted_error);
}

TEST(SimulateImages, WhatIsWrittenIsReadAsItWas) {
  const TemporaryFolder folder;
  for (const bool rgb : {false, true}) {
    const auto simulation = simulate_images({.images = 60,
                                             .valid_images = 4,
                                             .test_images = 5,
                                             .rgb = rgb,
                                             .largest_person = 20,
                                             .seed = 9});
    const auto out = folder.path(rgb ? "rgb" : "grey");
    write_simulated_images(out, simulation);
    const auto expect_same = [&](const std::string& name, const ImageSet& expected) {
      const auto set = read_images({.path = out + "/" + name}).set;
      EXPECT_EQ(set.pixels, expected.pixels);
      EXPECT_EQ(set.person, expected.person);
      EXPECT_EQ(set.person_of_image, expected.person_of_image);
      EXPECT_EQ(set.files, expected.files);
      EXPECT_EQ(set.channels, expected.channels);
    };
    expect_same("train", simulation.train);
    expect_same("valid", simulation.valid);
    expect_same("test", simulation.test);
    const auto truth = nlohmann::json::parse(content_of(out + "/truth.json"));
    EXPECT_EQ(truth["identity_share"], 0.7);
    EXPECT_EQ(truth["images_of_people"], sizes_of(simulation.train));
    EXPECT_EQ(input_error_of([&] {
                write_simulated_images(out, simulation);
              }).rfind(out + ": expected a new or empty folder", 0),
              0u);
  }
}

TEST(SimulateImages, AFolderThatCannotBeMadeIsNamedAndNothingRemains) {
  const TemporaryFolder folder;
  const auto simulation = simulate_images(
      {.images = 4, .valid_images = 1, .test_images = 1, .largest_person = 2});
  folder.write("file", "");
  EXPECT_NE(input_error_of([&] {
              write_simulated_images(folder.path("file/x"), simulation);
            }).find("cannot make the folder"),
            std::string::npos);
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"file"}));
}

TEST(SimulateImages, OptionsOutsideTheirRangesAreRefused) {
  const auto error = [](const SimulateImagesOptions& options) {
    return input_error_of([&] { simulate_images(options); });
  };
  EXPECT_EQ(error({.images = 1}),
            "[simulate_images] expected at least 2 images, received 1");
  EXPECT_EQ(
      error({.test_images = 0}),
      "[simulate_images] expected at least 1 validation and 1 test image, received "
      "1000 and 0");
  EXPECT_EQ(error({.side = 10}),
            "[simulate_images] expected a side that is a multiple of 4 from 8 to 64, "
            "received 10");
  EXPECT_EQ(
      error({.identity_share = 1.5}),
      "[simulate_images] expected an identity share between 0 and 1, received 1.5");
  EXPECT_EQ(
      error({.largest_person = 0}),
      "[simulate_images] expected at least 1 image of the largest person, received 0");
}

}  // namespace
}  // namespace kinflow
