// P-values as logarithms and as text.
#include "kinflow/statistics/p_value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kinflow {
namespace {

TEST(PValue, ScalesAgree) {
  for (const double p : {1.0, 0.5, 1e-9, 3e-300}) {
    EXPECT_NEAR(p_of_log10(log10_p_of(p)) / p, 1, 1e-12) << p;
    EXPECT_NEAR(log10_p_of_log(std::log(p)), log10_p_of(p), 1e-12) << p;
  }
  EXPECT_EQ(log10_p_of(0), HUGE_VAL);
  EXPECT_EQ(p_of_log10(400), 0);
  EXPECT_FALSE(std::signbit(log10_p_of_log(0)));
  EXPECT_FALSE(std::signbit(log10_p_of(1)));
  EXPECT_EQ(log10_p_of_log(1e-17), 0);
  EXPECT_TRUE(std::isnan(log10_p_of_log(std::nan(""))));
}

TEST(PValue, TextHasAnExponentOfAnySize) {
  EXPECT_EQ(format_p(0), "1");
  EXPECT_EQ(format_p(12 - std::log10(3.21)), "3.21e-12");
  EXPECT_EQ(format_p(1234 - std::log10(3.21)), "3.21e-1234");
  EXPECT_EQ(format_p(1234), "1e-1234");
  EXPECT_EQ(format_p(1234 - std::log10(9.9999)), "1e-1233");
  EXPECT_EQ(format_p(HUGE_VAL), "0");
}

TEST(PValue, OfTextMayBeBelowTheSmallestNumber) {
  EXPECT_NEAR(log10_p_of_text("1e-400"), 400, 1e-12);
  EXPECT_NEAR(log10_p_of_text("3.2E-1234"), 1234 - std::log10(3.2), 1e-12);
  EXPECT_NEAR(log10_p_of_text("0.05"), log10_p_of(0.05), 1e-15);
  EXPECT_EQ(log10_p_of_text("1e+00"), 0);
  EXPECT_NEAR(log10_p_of_text("+1e-400"), 400, 1e-12);
  EXPECT_TRUE(std::isinf(log10_p_of_text("0")));
  EXPECT_TRUE(std::isinf(log10_p_of_text("1e-99999999999")));
  EXPECT_TRUE(std::isinf(log10_p_of_text("0e-5")));
}

}  // namespace
}  // namespace kinflow
