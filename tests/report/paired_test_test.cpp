// Means with standard errors and the paired t-test.
#include "kinflow/report/paired_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "tests/core/not_finite.h"

namespace kinflow {
namespace {

using Values = std::vector<double>;

TEST(MeanAndStandardError, AreThoseOfAWorkedExample) {
  const MeanAndError result = mean_and_standard_error({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(result.count, 8u);
  EXPECT_DOUBLE_EQ(result.mean, 5);
  EXPECT_DOUBLE_EQ(result.standard_error, std::sqrt(32.0 / 7 / 8));
}

TEST(MeanAndStandardError, EqualValuesHaveExactlyNoError) {
  const MeanAndError result = mean_and_standard_error(Values(7, 0.1));
  EXPECT_EQ(result.mean, 0.1);
  EXPECT_EQ(result.standard_error, 0);
}

TEST(MeanAndStandardError, OneValueHasNoKnownError) {
  const MeanAndError result = mean_and_standard_error({3});
  EXPECT_EQ(result.mean, 3);
  EXPECT_TRUE(std::isnan(result.standard_error));
}

TEST(MeanAndStandardError, AnyScaleIsComputedAlike) {
  const Values values{1, 2, 4};
  const MeanAndError plain = mean_and_standard_error(values);
  for (const double scale : {1e-300, 1e-200, 1e200, 1e307}) {
    Values scaled;
    for (const double v : values) scaled.push_back(scale * v);
    const MeanAndError result = mean_and_standard_error(scaled);
    EXPECT_NEAR(result.mean / scale / plain.mean, 1, 1e-14) << scale;
    EXPECT_NEAR(result.standard_error / scale / plain.standard_error, 1, 1e-14)
        << scale;
  }
}

TEST(MeanAndStandardError, MissingValuesAreRefused) {
  EXPECT_THROW(mean_and_standard_error({}), InputError);
  EXPECT_THROW(mean_and_standard_error({1, kNan}), InputError);
  EXPECT_THROW(mean_and_standard_error({-kInfinity, 1}), InputError);
}

TEST(PairedTest, HasTheValuesOfAWorkedExample) {
  // Differences 1, 2, 3, 4: mean 5/2, standard error sqrt(5/12), t = sqrt(15).
  const PairedTest test = paired_test({10, 20, 30, 40}, {11, 22, 33, 44});
  EXPECT_EQ(test.pairs, 4u);
  EXPECT_DOUBLE_EQ(test.mean_difference, 2.5);
  EXPECT_DOUBLE_EQ(test.standard_error, std::sqrt(5.0 / 12));
  EXPECT_DOUBLE_EQ(test.t, std::sqrt(15.0));
  EXPECT_EQ(test.degrees_of_freedom, 3);
  const double root5 = std::sqrt(5.0);
  EXPECT_NEAR(test.p_value, (std::atan(1 / root5) - root5 / 6) / std::numbers::pi,
              1e-15);
}

TEST(PairedTest, ExchangedSidesGiveTheOtherTail) {
  const Values a{1.52, 1.49, 1.55, 1.50, 1.47}, b{1.54, 1.52, 1.53, 1.56, 1.49};
  const PairedTest one = paired_test(a, b), other = paired_test(b, a);
  EXPECT_DOUBLE_EQ(one.t, -other.t);
  EXPECT_NEAR(one.p_value + other.p_value, 1, 1e-15);
  EXPECT_LT(one.p_value, 0.5);
}

TEST(PairedTest, EqualDifferencesDecideByTheirSign) {
  const Values base{1, 2, 4}, above{1.5, 2.5, 4.5};
  EXPECT_EQ(paired_test(base, above).p_value, 0);
  EXPECT_EQ(paired_test(base, above).t, kInfinity);
  EXPECT_EQ(paired_test(base, base).p_value, 0.5);
  EXPECT_EQ(paired_test(base, base).t, 0);
  EXPECT_EQ(paired_test(above, base).p_value, 1);
}

TEST(PairedTest, IsUniformWhereThereIsNoDifference) {
  constexpr int kTests = 4000, kPairs = 5;
  Random random(11);
  std::vector<int> below(4, 0);
  const Values levels{0.01, 0.05, 0.3, 0.8};
  for (int test = 0; test < kTests; ++test) {
    Values a(kPairs), b(kPairs);
    for (int i = 0; i < kPairs; ++i) {
      const double common = 10 * random.normal();
      a[i] = common + random.normal();
      b[i] = common + random.normal();
    }
    const double p = paired_test(a, b).p_value;
    for (std::size_t k = 0; k < levels.size(); ++k) below[k] += p < levels[k];
  }
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const double error = std::sqrt(levels[k] * (1 - levels[k]) / kTests);
    EXPECT_NEAR(below[k] / double{kTests}, levels[k], 4 * error);
  }
}

TEST(PairedTest, PairsThatCannotBeTestedAreRefused) {
  EXPECT_THROW(paired_test({}, {}), InputError);
  EXPECT_THROW(paired_test({1}, {2}), InputError);
  EXPECT_THROW(paired_test({1, 2}, {2, 3, 4}), InputError);
  EXPECT_THROW(paired_test({1, kNan}, {2, 3}), InputError);
  EXPECT_THROW(paired_test({1, 2}, {2, kInfinity}), InputError);
  EXPECT_THROW(paired_test({-1e308, 2}, {1e308, 3}), InputError);
}

TEST(PairedTestOfGroups, WithOnePairInEachGroupIsThePairedTest) {
  const Values lower = {1, 2, 4, 3}, higher = {2, 2.5, 4.25, 5};
  const auto plain = paired_test(lower, higher);
  const auto grouped = paired_test_of_groups(lower, higher, {7, -1, 3, 12});
  EXPECT_DOUBLE_EQ(grouped.mean_difference, plain.mean_difference);
  EXPECT_DOUBLE_EQ(grouped.standard_error, plain.standard_error);
  EXPECT_EQ(grouped.degrees_of_freedom, 3);
  EXPECT_DOUBLE_EQ(grouped.p_value, plain.p_value);
}

TEST(PairedTestOfGroups, PairsThatAreRepeatedInAGroupTellNothingNew) {
  const Values lower = {1, 2, 4}, higher = {2, 2.5, 4.25};
  const auto once = paired_test(lower, higher);
  const auto twice = paired_test_of_groups(
      {1, 1, 2, 2, 4, 4}, {2, 2, 2.5, 2.5, 4.25, 4.25}, {0, 0, 1, 1, 2, 2});
  EXPECT_EQ(twice.pairs, 6U);
  EXPECT_DOUBLE_EQ(twice.mean_difference, once.mean_difference);
  EXPECT_DOUBLE_EQ(twice.standard_error, once.standard_error);
  EXPECT_DOUBLE_EQ(twice.p_value, once.p_value);
}

TEST(PairedTestOfGroups, RefusesOneGroupAndGroupsOfAnotherNumber) {
  EXPECT_THROW(paired_test_of_groups({1, 2}, {2, 3}, {5, 5}), InputError);
  EXPECT_THROW(paired_test_of_groups({1, 2}, {2, 3}, {5}), InputError);
}

}  // namespace
}  // namespace kinflow
