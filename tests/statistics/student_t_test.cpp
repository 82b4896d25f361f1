// The t distribution against closed forms, integrals and values of high precision.
#include "kinflow/statistics/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kinflow/core/error.h"
#include "tests/core/not_finite.h"

namespace kinflow {
namespace {

TEST(StudentT, HasTheValuesOfArithmeticWithFortyDigits) {
  struct Known {
    double degrees, t, tail;
  };
  // Half the regularised incomplete beta function, from mpmath.
  for (const auto& [degrees, t, tail] :
       {Known{1, 3, 0.102416382349566726}, Known{2, 5, 0.0188747756753118629},
        Known{3, 2.5, 0.0438533235040327736}, Known{4, 0.001, 0.499625000078124979},
        Known{5, 40, 9.20598108588647718e-8}, Known{7, 0.5, 0.316203567844642108},
        Known{9, 1.833, 0.0500089700252915094}, Known{9, 30, 1.24185235207913122e-10},
        Known{9, 2.262, 0.0250064227512273148}, Known{19, 12, 1.29544731861109966e-10},
        Known{19, 1, 0.164938400460562529}, Known{0.5, 7, 0.121028958559905},
        Known{2.5, 3, 0.0362880477745159219}, Known{30, 9, 2.50741595807393929e-10},
        Known{99, 7, 1.54780782714995472e-10}, Known{999, 6.5, 6.32994328351621729e-11},
        Known{1e5, 6.4, 7.80307326937932991e-11},
        Known{1e6, 0.3, 0.382088608989497104}}) {
    EXPECT_NEAR(student_t_tail(t, degrees) / tail, 1, 1e-13) << degrees << " " << t;
  }
}

TEST(StudentT, TheLogarithmOfATailHasTheValuesOfArithmeticWithFortyDigits) {
  struct Known {
    double degrees, t, log_tail;
  };
  // Of both tails, by mpmath: the hypergeometric form of the incomplete beta function,
  // and from 1e7 degrees on the integral of the density.
  for (const auto& [degrees, t, log_tail] : {Known{3, 0.5, -0.428557755371922328},
                                             Known{9, 1e12, -240.143804525539417},
                                             Known{19, 1e40, -1723.70366305564053},
                                             Known{100, 5, -12.9193517548905375},
                                             Known{100, 1e30, -6680.02764608670959},
                                             Known{499, 60, -528.688077358677919},
                                             Known{501, 3, -5.86598869001950175},
                                             Known{501, 15, -95.6746980289254472},
                                             Known{501, 1e5, -4214.05043555827692},
                                             Known{1000, 38, -450.235520097545806},
                                             Known{1000, 50, -629.893565926389007},
                                             Known{1000, 2e10, -20268.8003900014278},
                                             Known{1412, 14, -94.5737916985233285},
                                             Known{1412, 1e4, -7888.41264929995781},
                                             Known{5000, 50, -1017.59830151578996},
                                             Known{5000, 700, -11492.2789891390852},
                                             Known{1e5, 250, -24280.8953059466966},
                                             Known{1e7, 214.6, -22979.3121824387187},
                                             Known{1e9, 214.6, -23031.6443587618145},
                                             Known{1e12, 39.5, -784.027731314382741}}) {
    for (const double either : {t, -t}) {
      EXPECT_NEAR(log_two_sided_student_t_tail(either, degrees) / log_tail, 1, 1e-12)
          << degrees << " " << either;
    }
  }
  EXPECT_EQ(log_two_sided_student_t_tail(0, 9), 0);
  EXPECT_EQ(log_two_sided_student_t_tail(kInfinity, 9), -kInfinity);
}

TEST(StudentT, HasItsClosedFormsWithOneToFourDegrees) {
  using std::numbers::pi;
  for (const double t : {1e-9, 0.01, 0.3, 1.0, 1.7, 4.0, 50.0, 1e4}) {
    EXPECT_NEAR(student_t_tail(t, 1) / (std::atan(1 / t) / pi), 1, 1e-13) << t;
    const double root2 = std::sqrt(2 + t * t);
    EXPECT_NEAR(student_t_tail(t, 2) / (1 / (root2 * (root2 + t))), 1, 1e-13) << t;
    // These two lose digits in the tail.
    const double u = t / std::sqrt(3);
    const double three = (std::atan(1 / u) - u / (1 + u * u)) / pi;
    EXPECT_NEAR(student_t_tail(t, 3), three, 1e-15) << t;
    const double s = t / std::sqrt(4 + t * t);
    EXPECT_NEAR(student_t_tail(t, 4), 0.5 - 0.25 * s * (3 - s * s), 1e-15) << t;
  }
}

TEST(StudentT, IsTheIntegralOfItsDensity) {
  for (const double degrees : {0.7, 3.0, 9.0, 41.5}) {
    const auto density = [&](double t) {
      return std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2) -
                      (degrees + 1) / 2 * std::log1p(t * t / degrees)) /
             std::sqrt(degrees * std::numbers::pi);
    };
    for (double low = -6; low < 6; low += 0.75) {  // Simpson's rule
      constexpr int kSteps = 200;
      const double step = 0.75 / kSteps;
      double sum = density(low) + density(low + 0.75);
      for (int i = 1; i < kSteps; ++i) {
        sum += (i % 2 == 1 ? 4 : 2) * density(low + i * step);
      }
      EXPECT_NEAR(student_t_tail(low, degrees) - student_t_tail(low + 0.75, degrees),
                  sum * step / 3, 1e-10)
          << degrees << " " << low;
    }
  }
}

TEST(StudentT, TailsAtBothSidesMakeOne) {
  for (const double degrees : {0.3, 1.0, 9.0, 120.0, 1e7, kInfinity}) {
    EXPECT_EQ(student_t_tail(0, degrees), 0.5);
    EXPECT_EQ(student_t_tail(kInfinity, degrees), 0);
    EXPECT_EQ(student_t_tail(-kInfinity, degrees), 1);
    for (const double t : {1e-8, 0.2, 1.3, 3.0, 11.0}) {
      EXPECT_NEAR(student_t_tail(t, degrees) + student_t_tail(-t, degrees), 1, 1e-15);
    }
  }
}

TEST(StudentT, FallsInTWithoutAStepWhereTheMethodChanges) {
  for (const double degrees : {0.2, 1.0, 6.0, 50.0, 500.0, 501.0, 1e4}) {
    double before = student_t_tail(0, degrees);
    for (double t = 0.01; t < 5; t += 0.01) {
      const double tail = student_t_tail(t, degrees);
      EXPECT_LT(tail, before) << degrees << " " << t;
      EXPECT_LT(before - tail, 0.0041) << degrees << " " << t;
      before = tail;
    }
  }
}

TEST(StudentT, ManyDegreesApproachTheNormalDistribution) {
  for (const double t : {0.1, 1.0, 2.0, 6.0}) {
    const double normal = 0.5 * std::erfc(t / std::numbers::sqrt2);
    EXPECT_EQ(student_t_tail(t, kInfinity), normal);
    EXPECT_NEAR(student_t_tail(t, 1e9) / normal, 1, 1e-6);
    EXPECT_NEAR(student_t_tail(t, 1e15) / normal, 1, 1e-12);
    EXPECT_EQ(student_t_tail(t, 1e99), normal);
  }
}

TEST(StudentT, HugeArgumentsNeitherOverflowNorGiveNan) {
  EXPECT_NEAR(student_t_tail(1e200, 1) / (1e-200 / std::numbers::pi), 1, 1e-12);
  EXPECT_EQ(student_t_tail(1e300, 9), 0);
  EXPECT_EQ(student_t_tail(1e6, 1e12), 0);
  EXPECT_EQ(student_t_tail(1e300, 1e3), 0);
}

TEST(StudentT, WhatIsNoDistributionIsRefused) {
  EXPECT_THROW(student_t_tail(1, 0), InputError);
  EXPECT_THROW(student_t_tail(1, -3), InputError);
  EXPECT_THROW(student_t_tail(1, kNan), InputError);
  EXPECT_THROW(student_t_tail(kNan, 3), InputError);
}

}  // namespace
}  // namespace kinflow
