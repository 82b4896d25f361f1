// Estimates of the time that a job still needs, on a clock of the test's own.
#include "kinflow/core/time_left.h"

#include <gtest/gtest.h>

#include "kinflow/core/log.h"

namespace kinflow {
namespace {

class TimeLeftTest : public testing::Test {
 protected:
  void pass(double seconds) {
    now_ += std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds));
  }
  // Does units that take so many seconds each.
  void work(int units, double seconds_each) {
    for (int i = 0; i < units; ++i) {
      pass(seconds_each);
      left_.observe(++done_, now_);
    }
  }

  TimeLeft left_;
  Clock::time_point now_{};
  double done_ = 0;
};

TEST_F(TimeLeftTest, NothingIsSaidBeforeTheRateIsKnown) {
  EXPECT_LT(left_.seconds_for(10), 0);
  work(1, 100);
  EXPECT_FALSE(left_.rate()) << "one observation is no rate";
  work(19, 0.1);
  EXPECT_LT(left_.seconds_for(10), 0) << "1.9 seconds are too few";
  work(2, 0.1);
  EXPECT_NEAR(left_.seconds_for(10), 1, 1e-9);
}

TEST_F(TimeLeftTest, TimeBeforeTheFirstUnitIsSetUp) {
  pass(600);
  work(1, 60);
  work(4, 1);
  EXPECT_NEAR(left_.seconds_for(100), 100, 1e-9);
}

TEST_F(TimeLeftTest, UnitsThatTakeLongAreKnownAfterTheSecond) {
  work(2, 45);
  EXPECT_NEAR(left_.seconds_for(3), 135, 1e-9);
}

TEST_F(TimeLeftTest, OnlyTheLastSecondsCount) {
  work(100, 1);
  work(400, 0.1);
  EXPECT_NEAR(left_.seconds_for(100), 10, 0.2);
  work(60, 1);
  EXPECT_NEAR(left_.seconds_for(100), 100, 2);
}

TEST_F(TimeLeftTest, SetUpInBetweenDoesNotCount) {
  work(40, 0.5);
  left_.begin_set_up();
  pass(300);
  left_.observe(done_ += 5, now_);
  EXPECT_NEAR(left_.seconds_for(10), 5, 1e-9);
  work(10, 0.5);
  EXPECT_NEAR(left_.seconds_for(10), 5, 1e-9);
}

TEST_F(TimeLeftTest, ManyObservationsOfAFastJobAreAsGoodAsFew) {
  work(100'000, 1e-3);
  EXPECT_NEAR(left_.seconds_for(1000), 1, 1e-3);
}

TEST(TimeLeftText, SaysAtMostWhereAJobMayEndEarly) {
  Progress progress{.job = "fit", .done = 1, .total = 10, .status = ""};
  EXPECT_EQ(time_left_text(progress), "");
  progress.seconds_left = 65;
  EXPECT_EQ(time_left_text(progress), "1:05 left");
  progress.least_seconds_left = 10;
  EXPECT_EQ(time_left_text(progress), "0:10 to at most 1:05 left");
  progress.least_seconds_left = 0;
  EXPECT_EQ(time_left_text(progress), "at most 1:05 left");
  progress.done = 10;
  EXPECT_EQ(time_left_text(progress), "");
}

}  // namespace
}  // namespace kinflow
