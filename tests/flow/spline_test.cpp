// The spline by itself: identity, knots, monotony, tails and its inverse.
#include <gtest/gtest.h>

#include "kinflow/array/array.h"
#include "kinflow/flow/rational_quadratic_spline.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

TEST(Spline, ZeroParametersAreTheIdentity) {
  const auto inputs = nd::linspace(-6, 6, 101, nd::kDouble);
  const auto result = spline_forward(inputs, nd::zeros({1, 3 * 8 - 1}, nd::kDouble), 4);
  EXPECT_LT((result.values - inputs).abs().max().item<double>(), 1e-12);
  EXPECT_LT(result.log_slopes.abs().max().item<double>(), 1e-12);
}

TEST(Spline, TailsAreTheIdentityAndMeetTheSplineSmoothly) {
  seed_numbers(1);
  const auto parameters = normal_array({1, 3 * 8 - 1}, nd::kDouble) * 2;
  const double bound = 3;
  const auto inputs = nd::tensor({-100.0, -3.0, -3 + 1e-12, 3 - 1e-12, 3.0, 100.0});
  const auto result = spline_forward(inputs, parameters, bound);
  EXPECT_LT((result.values - inputs).abs().max().item<double>(), 1e-8);
  EXPECT_LT(result.log_slopes.abs().max().item<double>(), 1e-6);
}

TEST(Spline, IsIncreasingAndItsSlopeIsTheDerivative) {
  seed_numbers(2);
  const auto parameters = normal_array({1, 3 * 16 - 1}, nd::kDouble) * 3;
  const auto inputs = nd::linspace(-5, 5, 20001, nd::kDouble);
  const auto result = spline_forward(inputs, parameters, 4);
  const auto rise = result.values.diff();
  EXPECT_GT(rise.min().item<double>(), 0);
  const auto middle = spline_forward(
      (inputs.narrow(0, 1, 20000) + inputs.narrow(0, 0, 20000)) / 2, parameters, 4);
  const auto secant = rise / 5e-4;
  const auto error = (secant.log() - middle.log_slopes).abs();
  EXPECT_LT(nd::nanquantile(error, 0.99, 0).item<double>(), 1e-3);
}

TEST(Spline, InverseUndoesForwardAndNegatesTheLogSlope) {
  seed_numbers(3);
  const auto parameters = normal_array({20000, 3 * 10 - 1}, nd::kDouble);
  const auto inputs = normal_array({20000}, nd::kDouble) * 3;
  const auto forward = spline_forward(inputs, parameters, 3);
  const auto inverse = spline_inverse(forward.values, parameters, 3);
  EXPECT_LT((inverse.values - inputs).abs().max().item<double>(), 1e-10);
  EXPECT_LT((inverse.log_slopes + forward.log_slopes).abs().max().item<double>(), 1e-8);
}

TEST(Spline, InverseOfExtremeSplinesIsAsGoodAsTheirConditionAllows) {
  seed_numbers(5);
  const auto parameters = normal_array({20000, 3 * 16 - 1}, nd::kDouble) * 4;
  const auto inputs = normal_array({20000}, nd::kDouble) * 2;
  const auto forward = spline_forward(inputs, parameters, 4);
  const auto inverse = spline_inverse(forward.values, parameters, 4);
  // Rounding of the forward value is divided by the slope on the way back.
  const auto error =
      (inverse.values - inputs).abs() * forward.log_slopes.exp().clamp_max(1);
  EXPECT_LT(error.max().item<double>(), 1e-13);
}

TEST(Spline, ParametersBroadcastOverInputs) {
  seed_numbers(4);
  const auto parameters = normal_array({1, 1, 2, 3 * 4 - 1}, nd::kDouble);
  const auto inputs = normal_array({3, 50, 2}, nd::kDouble);
  const auto broadcast = spline_forward(inputs, parameters, 4);
  const auto expanded =
      spline_forward(inputs, parameters.expand({3, 50, 2, -1}).contiguous(), 4);
  EXPECT_TRUE(nd::equal(broadcast.values, expanded.values));
}

}  // namespace
}  // namespace kinflow
