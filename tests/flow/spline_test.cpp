// The spline by itself: identity, knots, monotony, tails and its inverse.
#include <gtest/gtest.h>

#include "kinflow/flow/rational_quadratic_spline.h"

namespace kinflow {
namespace {

TEST(Spline, ZeroParametersAreTheIdentity) {
  const auto inputs = at::linspace(-6, 6, 101, at::kDouble);
  const auto result = spline_forward(inputs, at::zeros({1, 3 * 8 - 1}, at::kDouble), 4);
  EXPECT_LT((result.values - inputs).abs().max().item<double>(), 1e-12);
  EXPECT_LT(result.log_slopes.abs().max().item<double>(), 1e-12);
}

TEST(Spline, TailsAreTheIdentityAndMeetTheSplineSmoothly) {
  at::manual_seed(1);
  const auto parameters = at::randn({1, 3 * 8 - 1}, at::kDouble) * 2;
  const double bound = 3;
  const auto inputs = at::tensor({-100.0, -3.0, -3 + 1e-12, 3 - 1e-12, 3.0, 100.0});
  const auto result = spline_forward(inputs, parameters, bound);
  EXPECT_LT((result.values - inputs).abs().max().item<double>(), 1e-8);
  EXPECT_LT(result.log_slopes.abs().max().item<double>(), 1e-6);
}

TEST(Spline, IsIncreasingAndItsSlopeIsTheDerivative) {
  at::manual_seed(2);
  const auto parameters = at::randn({1, 3 * 16 - 1}, at::kDouble) * 3;
  const auto inputs = at::linspace(-5, 5, 20001, at::kDouble);
  const auto result = spline_forward(inputs, parameters, 4);
  const auto rise = result.values.diff();
  EXPECT_GT(rise.min().item<double>(), 0);
  const auto middle = spline_forward(
      (inputs.narrow(0, 1, 20000) + inputs.narrow(0, 0, 20000)) / 2, parameters, 4);
  const auto secant = rise / 5e-4;
  const auto error = (secant.log() - middle.log_slopes).abs();
  EXPECT_LT(error.quantile(0.99).item<double>(), 1e-3);
}

TEST(Spline, InverseUndoesForwardAndNegatesTheLogSlope) {
  at::manual_seed(3);
  const auto parameters = at::randn({20000, 3 * 10 - 1}, at::kDouble);
  const auto inputs = at::randn({20000}, at::kDouble) * 3;
  const auto forward = spline_forward(inputs, parameters, 3);
  const auto inverse = spline_inverse(forward.values, parameters, 3);
  EXPECT_LT((inverse.values - inputs).abs().max().item<double>(), 1e-10);
  EXPECT_LT((inverse.log_slopes + forward.log_slopes).abs().max().item<double>(), 1e-8);
}

TEST(Spline, InverseOfExtremeSplinesIsAsGoodAsTheirConditionAllows) {
  at::manual_seed(5);
  const auto parameters = at::randn({20000, 3 * 16 - 1}, at::kDouble) * 4;
  const auto inputs = at::randn({20000}, at::kDouble) * 2;
  const auto forward = spline_forward(inputs, parameters, 4);
  const auto inverse = spline_inverse(forward.values, parameters, 4);
  // Rounding of the forward value is divided by the slope on the way back.
  const auto error =
      (inverse.values - inputs).abs() * forward.log_slopes.exp().clamp_max(1);
  EXPECT_LT(error.max().item<double>(), 1e-13);
}

TEST(Spline, ParametersBroadcastOverInputs) {
  at::manual_seed(4);
  const auto parameters = at::randn({1, 1, 2, 3 * 4 - 1}, at::kDouble);
  const auto inputs = at::randn({3, 50, 2}, at::kDouble);
  const auto broadcast = spline_forward(inputs, parameters, 4);
  const auto expanded =
      spline_forward(inputs, parameters.expand({3, 50, 2, -1}).contiguous(), 4);
  EXPECT_TRUE(at::equal(broadcast.values, expanded.values));
}

}  // namespace
}  // namespace kinflow
