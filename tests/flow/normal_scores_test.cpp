// Maps to normal scores: round trips, slopes by differences, and how near the density
// that they imply is to the truth.
#include "kinflow/flow/normal_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/flow/standardization.h"

namespace kinflow {
namespace {

double log_normal_density(double z) {
  return -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
}

/// A distribution as the image of the normal one.
struct Source {
  std::string name;
  std::function<double(double)> value;             // of a normal number
  std::function<double(double)> log_density = {};  // of a value
};

double cumulative(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

std::vector<Source> sources() {
  return {{"lognormal", [](double z) { return std::exp(z); },
           [](double x) { return log_normal_density(std::log(x)) - std::log(x); }},
          {"Student's t with 2 degrees",
           [](double z) {
             const double p = cumulative(z);
             return (2 * p - 1) / std::sqrt(2 * p * (1 - p));
           },
           [](double x) { return -1.5 * std::log(2 + x * x); }},
          {"Cauchy",
           [](double z) { return std::tan(std::numbers::pi * (cumulative(z) - 0.5)); },
           [](double x) { return -std::log(std::numbers::pi * (1 + x * x)); }}};
}

std::vector<double> draw(const Source& source, int rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> column;
  for (int i = 0; i < rows; ++i) column.push_back(source.value(random.normal()));
  return column;
}

std::optional<NormalScores> found_in(const std::vector<double>& column) {
  const std::vector<double> equal(column.size(), 1.0);
  return NormalScores::from(column, equal, static_cast<double>(column.size()));
}

NormalScores scores_of(const std::vector<double>& column) {
  return found_in(column).value();
}

TEST(NormalScores, GoBackAndForthWithTheSlopeOfTheDifferences) {
  for (const auto& source : sources()) {
    const auto map = scores_of(draw(source, 700, 1));
    double before = -1e300;
    for (double z = -5.003; z < 5; z += 0.01) {
      const double x = map.to_value(z), h = 1e-5;
      ASSERT_GT(x, before) << source.name << " at " << z;
      before = x;
      const auto [score, log_slope] = map.to_score(x);
      ASSERT_NEAR(score, z, 1e-12) << source.name;
      const double slope = (map.to_value(z + h) - map.to_value(z - h)) / (2 * h);
      // At a knot the slope bends.
      ASSERT_NEAR(log_slope, -std::log(slope), 2e-4) << source.name << " at " << z;
    }
  }
}

TEST(NormalScores, ImplyNearlyTheTrueDensityOfHeavyTails) {
  for (const auto& source : sources()) {
    for (const int rows : {500, 1000, 5000}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto map = scores_of(draw(source, rows, seed));
        double excess = 0;
        const auto fresh = draw(source, 4000, 1000);
        for (const double x : fresh) {
          const auto [score, log_slope] = map.to_score(x);
          excess += source.log_density(x) - log_normal_density(score) - log_slope;
        }
        EXPECT_LT(excess / static_cast<double>(fresh.size()),
                  source.name == "Cauchy" ? 0.1 : 0.05)
            << source.name << ", " << rows << " rows, seed " << seed;
      }
    }
  }
}

TEST(NormalScores, WeightsCountRowsAndNegativeOnesNothing) {
  const auto column = draw(sources()[0], 400, 3);
  std::vector<double> once = column, weights(column.size(), 1.0);
  once.push_back(-1e6);
  weights.push_back(-2);
  const auto map = NormalScores::from(once, weights, 400).value();
  EXPECT_EQ(map.values, scores_of(column).values);

  // Normal numbers z weighted by exp(z / 2) are normal numbers around 1/2.
  Random random(9);
  std::vector<double> numbers, tilt;
  for (int i = 0; i < 20000; ++i) {
    const double z = random.normal();
    numbers.push_back(std::exp(z));
    tilt.push_back(std::exp(0.5 * z));
  }
  const auto tilted = NormalScores::from(numbers, tilt, 15000).value();
  for (const double z : {-1.5, 0.0, 1.5}) {
    EXPECT_NEAR(tilted.to_score(std::exp(0.5 + z)).score, z, 0.1) << z;
    EXPECT_NEAR(scores_of(numbers).to_score(std::exp(z)).score, z, 0.1) << z;
  }
}

TEST(NormalScores, EqualValuesAreNoSpike) {
  auto column = draw(sources()[0], 1000, 4);
  for (std::size_t i = 0; i < 250; ++i) column[i] = 1.0;
  const auto map = scores_of(column);
  double steepest = -1e300;
  for (double z = -3; z < 3; z += 0.001) {
    steepest = std::max(steepest, map.to_score(map.to_value(z)).log_slope);
  }
  // An interval is at least a fiftieth of the mean one, and a slope half of that.
  const double mean = (map.values.back() - map.values.front()) /
                      (map.scores.back() - map.scores.front());
  EXPECT_LT(steepest, std::log(100 / mean) + 1e-9);
}

TEST(NormalScores, OfColumnsThatAreAsGoodAsNormalAreNone) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    std::vector<double> column;
    for (int i = 0; i < 300; ++i) column.push_back(3 + 0.1 * random.normal());
    found += found_in(column).has_value();
  }
  EXPECT_LE(found, 2);
  // Beside others they stay as they are.
  Random random(1);
  auto data = nd::empty({500, 2}, nd::kDouble);
  for (std::int64_t i = 0; i < 500; ++i) {
    data[i][0] = random.normal();
    data[i][1] = std::exp(random.normal());
  }
  const auto plain = Standardization::from(data);
  const auto scored = plain.with_scores(data, nd::ones({500}, nd::kDouble), 500);
  ASSERT_TRUE(scored);
  EXPECT_LT(
      (scored->apply(data) - plain.apply(data)).select(1, 0).abs().max().item<double>(),
      1e-12);
}

TEST(NormalScores, OfFewRowsAreNone) {
  const auto column = draw(sources()[0], 200, 5);
  const std::vector<double> equal(column.size(), 1.0);
  EXPECT_FALSE(NormalScores::from(column, equal, 29.9));
  EXPECT_TRUE(NormalScores::from(column, equal, 30));
}

TEST(NormalScores, ArePartOfAStandardization) {
  const auto first = draw(sources()[0], 300, 6), second = draw(sources()[2], 300, 7);
  auto data = nd::empty({300, 2}, nd::kDouble);
  for (std::int64_t i = 0; i < 300; ++i) {
    data[i][0] = first[static_cast<std::size_t>(i)];
    data[i][1] =
        second[static_cast<std::size_t>(i)] + 0.5 * first[static_cast<std::size_t>(i)];
  }
  const auto plain = Standardization::from(data);
  const auto scored = plain.with_scores(data, nd::ones({300}, nd::kDouble), 300);
  ASSERT_TRUE(scored);
  const auto both = scored->decorrelated(data);
  ASSERT_TRUE(both);
  const auto rows = both->apply(data);
  EXPECT_TRUE(nd::allclose(both->undo(rows), data, 1e-9));
  EXPECT_LT(rows.abs().max().item<double>(), 8);
  // The change of volume of a row by differences.
  const double h = 1e-6;
  const auto row = data.narrow(0, 10, 1);
  const auto step = [&](std::int64_t column) {
    auto moved = nd::zeros({1, 2}, nd::kDouble);
    moved[0][column] = h;
    return (both->apply(row + moved) - both->apply(row - moved)) / (2 * h);
  };
  const auto jacobian = nd::cat({step(0), step(1)});
  EXPECT_NEAR(both->log_abs_det(row).item<double>(),
              std::get<1>(nd::linalg_slogdet(jacobian)).item<double>(), 1e-5);
}

}  // namespace
}  // namespace kinflow
