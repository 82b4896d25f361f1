// Bounds of columns: slopes by differences, round trips to the last digit, and their
// text.
#include "kinflow/data/column_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ColumnBounds kAbove18{.low = 18}, kPositive{.low = 0}, kBelow100{.high = 100},
    kShare{.low = 0, .high = 1}, kScore{.low = -3, .high = 100};
const ColumnBounds kAll[] = {kAbove18, kPositive, kBelow100, kShare, kScore};

TEST(ColumnBounds, SlopeIsThatOfTheDifferences) {
  for (const auto& bounds : kAll) {
    for (double place = -8; place <= 8; place += 0.37) {
      const double x = bounds.from_line(place);
      const double distance = std::min(x - bounds.low, bounds.high - x);
      const double h = 1e-4 * distance;
      const double slope = (bounds.to_line(x + h) - bounds.to_line(x - h)) / (2 * h);
      ASSERT_GT(slope, 0);
      ASSERT_NEAR(bounds.log_slope(x), std::log(slope), 1e-6)
          << bounds.in_words() << " at " << x;
    }
  }
}

// Relative to the distance from the bound.
TEST(ColumnBounds, GoBackAndForthNearTheBoundsToo) {
  for (const auto& bounds : kAll) {
    for (double distance = 1e-12; distance < 1; distance *= 1.7) {
      const auto check = [&](double bound, double x) {
        const double back = bounds.from_line(bounds.to_line(x));
        EXPECT_NEAR(back - bound, x - bound,
                    4e-14 * std::abs(x - bound) + 2 * DBL_EPSILON * std::abs(x))
            << bounds.in_words() << " at " << x;
      };
      if (bounds.has_low()) check(bounds.low, bounds.low + distance);
      if (bounds.has_high()) check(bounds.high, bounds.high - distance);
    }
  }
  // An interval that is narrow beside its place.
  const ColumnBounds narrow{.low = 1e6, .high = 1e6 + 1e-3};
  const double inside = 1e6 + 3e-4;
  EXPECT_NEAR(narrow.from_line(narrow.to_line(inside)), inside, 2e-10);
}

TEST(ColumnBounds, EveryPlaceHasAValueInside) {
  for (const auto& bounds : kAll) {
    double before = -kInfinity;
    for (const double place : {-1e300, -800.0, -50.0, -1.0, 0.0, 1.0, 50.0, 700.0}) {
      // Without a lower bound float64 ends somewhere.
      const double x =
          bounds.from_line(bounds.has_low() ? place : std::max(place, -700.0));
      EXPECT_TRUE(bounds.contain(x)) << bounds.in_words() << " at " << place;
      EXPECT_GE(x, before);
      EXPECT_TRUE(std::isfinite(bounds.to_line(x)));
      EXPECT_TRUE(std::isfinite(bounds.log_slope(x)));
      before = x;
    }
  }
  EXPECT_TRUE(kShare.contain(kShare.from_line(1e300)));
  EXPECT_TRUE(kBelow100.contain(kBelow100.from_line(1e300)));
  // No draw is made up where float64 ends.
  EXPECT_EQ(kPositive.from_line(1e300), kInfinity);
}

TEST(ColumnBounds, DensityOnAndBeyondThemIsZero) {
  for (const double x : {18.0, 17.0, -kInfinity}) {
    EXPECT_EQ(kAbove18.log_slope(x), -kInfinity);
    EXPECT_TRUE(std::isfinite(kAbove18.to_line(x)));
    EXPECT_FALSE(kAbove18.contain(x));
  }
  for (const double x : {-3.0, 100.0, 1e9}) {
    EXPECT_EQ(kScore.log_slope(x), -kInfinity);
    EXPECT_TRUE(std::isfinite(kScore.to_line(x)));
  }
}

TEST(ColumnBounds, WithoutBoundsNothingChanges) {
  const ColumnBounds none;
  for (const double x : {-1e300, -1.0, 0.0, 3.5}) {
    EXPECT_EQ(none.to_line(x), x);
    EXPECT_EQ(none.from_line(x), x);
    EXPECT_EQ(none.log_slope(x), 0);
  }
}

TEST(ColumnBounds, AreReadFromTextAndWrittenAsIt) {
  for (const std::string text : {"age=18:", "score=:100", "share=0:1", "a=b=-1e-07:0.1",
                                 "Weight, kg=0:", "c:d=-5:-2.5"}) {
    EXPECT_EQ(text_of(read_bounded_column(text, "--bounds")), text);
  }
  const auto read = read_bounded_column("a=b=+1:2", "--bounds");
  EXPECT_EQ(read.column, "a=b");
  EXPECT_EQ(read.bounds, (ColumnBounds{.low = 1, .high = 2}));
}

TEST(ColumnBounds, ThatAreNoneAreRefusedInOneLine) {
  const auto expect_refused = [](const std::string& text, const std::string& part) {
    try {
      read_bounded_column(text, "--bounds");
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind("--bounds: ", 0), 0u) << message;
      EXPECT_NE(message.find(part), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  };
  for (const std::string text : {"age", "age=18", "=0:1", "0:1", ""}) {
    expect_refused(text, "COLUMN=LOW:HIGH");
  }
  expect_refused("age=:", "found neither");
  for (const std::string text :
       {"age=x:", "age=0:1:2", "age=-inf:3", "age=nan:", "age=0:1e400", "age=0: 1"}) {
    expect_refused(text, "'age': expected a number");
  }
  for (const std::string text :
       {"age=3:3", "age=5:3", "age=1:1.0000000000000002", "age=-1e308:1e308"}) {
    expect_refused(text, "'age': expected a lower bound below");
  }
}

TEST(ColumnBounds, BelongToModelledColumnsOnce) {
  const std::vector<std::string> columns = {"x", "age"};
  EXPECT_TRUE(bounds_for({}, columns).empty());
  const std::vector<BoundedColumn> one = {{"age", kAbove18}};
  EXPECT_EQ(bounds_for(one, columns), (std::vector<ColumnBounds>{{}, kAbove18}));
  const std::vector<BoundedColumn> twice = {{"age", kAbove18}, {"age", kPositive}};
  EXPECT_THROW(bounds_for(twice, columns), InputError);
  const std::vector<BoundedColumn> other = {{"group", kAbove18}};
  EXPECT_THROW(bounds_for(other, columns), InputError);
}

}  // namespace
}  // namespace kinflow
