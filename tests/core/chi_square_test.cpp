// The chi-square distribution against values of high precision.
#include "kinflow/core/chi_square.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

TEST(ChiSquare, HasTheValuesOfArithmeticWithSixtyDigits) {
  struct Known {
    int degrees;
    double x, tail;
  };
  for (const auto& [degrees, x, tail] :
       {Known{1, 3.841458820694124, 0.0500000000000000583},
        Known{1, 0.001, 0.974772879369960377}, Known{1, 700, 2.99022697512462034e-154},
        Known{1, 1370, 6.94293736464326833e-300}, Known{2, 5, 0.0820849986238988},
        Known{3, 0.5, 0.918891411654675805}, Known{4, 1400, 6.91163325717559937e-302},
        Known{6, 12.6, 0.0498464931724496782}, Known{6, 90, 3.02997591751153308e-17},
        Known{7, 1350, 2.53814850991362878e-287}, Known{12, 3.5, 0.990866435836531889},
        Known{12, 60, 2.25734874639628422e-08}, Known{25, 25.5, 0.434650884380710589},
        Known{25, 500, 7.70602601333446594e-90}}) {
    EXPECT_NEAR(chi_square_tail(x, degrees) / tail, 1, 1e-12) << degrees << " " << x;
  }
}

TEST(ChiSquare, EndsAtOneAndZero) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const int degrees : {1, 2, 9}) {
    EXPECT_EQ(chi_square_tail(0, degrees), 1);
    EXPECT_EQ(chi_square_tail(-3, degrees), 1);
    EXPECT_EQ(chi_square_tail(kInfinity, degrees), 0);
    EXPECT_LE(chi_square_tail(1e-12, degrees), 1);
  }
}

TEST(ChiSquare, RefusesWhatIsNoNumberAndNoDegrees) {
  EXPECT_THROW(chi_square_tail(std::nan(""), 2), InputError);
  EXPECT_THROW(chi_square_tail(1, 0), InputError);
}

}  // namespace
}  // namespace kinflow
