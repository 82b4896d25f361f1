// Tails of the chi-squared distribution against values of 40 digits, and their inverse.
#include "kinflow/statistics/chi_squared.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

TEST(ChiSquaredTail, HasAllDigits) {
  struct Known {
    double degrees, x, tail;
  };
  for (const auto& [degrees, x, tail] :
       {Known{1, 3.841458820694124, 0.05}, Known{1, 29.716785, 5.0000012632149445e-08},
        Known{1, 1370, 6.9429373646432683e-300}, Known{2, 9.21, 0.010001702004705482},
        Known{3, 0.5, 0.91889141165467581}, Known{5, 0.01, 0.99999946997299571},
        Known{6, 40, 4.5551495055892130e-07}, Known{6, 1400, 2.4225323864783197e-299},
        Known{12, 5, 0.95797896180469389}, Known{12, 300, 4.6959578959561352e-57}}) {
    EXPECT_NEAR(chi_squared_tail(x, degrees) / tail, 1, 1e-12) << degrees << " " << x;
  }
}

TEST(ChiSquared, TheLogarithmOfATailHasTheValuesOfArithmeticWithFortyDigits) {
  struct Known {
    double degrees, x, log_tail;
  };
  // The regularised incomplete gamma function, from mpmath.
  for (const auto& [degrees, x, log_tail] :
       {Known{1, 0.5, -0.735011129837084403}, Known{1, 30, -16.9573181581287897},
        Known{1, 1400, -703.848618125122317}, Known{1, 1500, -753.883067105382429},
        Known{1, 46000, -23005.5940114283294}, Known{2, 46052, -23026},
        Known{3, 1e4, -4995.6205211816523}, Known{6, 2.5, -0.141024924296343725},
        Known{6, 1600, -787.321423727823379}, Known{6, 46100, -23030.6022183158146},
        Known{12, 9, -0.352497346746575466}, Known{12, 46150, -23029.5547497471172},
        Known{40, 46300, -22998.3938120206063}, Known{1, 1e6, -500007.133547631624},
        Known{0.5, 700, -355.683606893142229}}) {
    EXPECT_NEAR(log_chi_squared_tail(x, degrees) / log_tail, 1, 1e-12)
        << degrees << " " << x;
    EXPECT_NEAR(inverse_log_chi_squared_tail(log_tail, degrees) / x, 1, 1e-11)
        << degrees << " " << x;
  }
  EXPECT_EQ(log_chi_squared_tail(0, 3), 0);
  EXPECT_EQ(log_chi_squared_tail(HUGE_VAL, 3), -HUGE_VAL);
  EXPECT_THROW(log_chi_squared_tail(std::nan(""), 1), InputError);
  EXPECT_THROW(inverse_log_chi_squared_tail(0.1, 1), InputError);
}

TEST(ChiSquaredTail, HasItsEnds) {
  EXPECT_EQ(chi_squared_tail(0, 3), 1);
  EXPECT_EQ(chi_squared_tail(-1, 3), 1);
  EXPECT_EQ(chi_squared_tail(HUGE_VAL, 3), 0);
  EXPECT_EQ(chi_squared_tail(1e6, 3), 0);
  EXPECT_THROW(chi_squared_tail(1, 0), InputError);
  EXPECT_THROW(chi_squared_tail(1, HUGE_VAL), InputError);
  EXPECT_THROW(chi_squared_tail(std::nan(""), 1), InputError);
}

TEST(InverseChiSquaredTail, GoesBack) {
  for (const double degrees : {0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 100.0, 1e6}) {
    for (const double p : {1e-300, 1e-50, 5e-8, 0.01, 0.3, 0.5, 0.9, 0.999, 0.999999}) {
      const double x = inverse_chi_squared_tail(p, degrees);
      const double error = std::abs(chi_squared_tail(x, degrees) - p);
      // The last digits of x move tails of many degrees and of tiny p more.
      EXPECT_LT(error / p, 1e-9) << degrees << " " << p;
    }
  }
  EXPECT_NEAR(inverse_chi_squared_tail(0.5, 1), 0.45493642311957275, 1e-15);
  EXPECT_NEAR(inverse_chi_squared_tail(0.5, 6), 5.3481206274471206, 1e-14);
}

TEST(InverseChiSquaredTail, HasItsEnds) {
  EXPECT_EQ(inverse_chi_squared_tail(1, 2), 0);
  EXPECT_TRUE(std::isinf(inverse_chi_squared_tail(0, 2)));
  EXPECT_THROW(inverse_chi_squared_tail(-0.1, 2), InputError);
  EXPECT_THROW(inverse_chi_squared_tail(1.1, 2), InputError);
  EXPECT_THROW(inverse_chi_squared_tail(0.5, -1), InputError);
}

}  // namespace
}  // namespace kinflow
