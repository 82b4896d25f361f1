// Spline arithmetic in units where the domain and the range are both [0, 1].
#include "kinflow/flow/rational_quadratic_spline.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace kinflow {
namespace {

// The bin of every input: its edges on both axes and the slopes at the edges.
struct Bin {
  at::Tensor left, width, bottom, height;
  at::Tensor slope_left, slope_right;
};

enum Axis { kInput = 0, kOutput = 1 };

// Knots of both axes: [..., 2, K + 1], from 0 to 1 exactly.
at::Tensor knots(const at::Tensor& parameters, std::int64_t bins) {
  const auto logits = parameters.narrow(-1, 0, 2 * bins).unflatten(-1, {2, bins});
  const auto sizes = at::softmax(logits, -1)
                         .mul(1 - kSplineMinimum * static_cast<double>(bins))
                         .add(kSplineMinimum);
  const auto interior = at::cumsum(sizes.narrow(-1, 0, bins - 1), -1);
  return at::constant_pad_nd(at::constant_pad_nd(interior, {1, 0}, 0), {0, 1}, 1);
}

// Finds the bin that holds `position` (in [0, 1]) on one axis.
Bin find_bin(const at::Tensor& position, const at::Tensor& parameters, Axis axis) {
  const std::int64_t bins = (parameters.size(-1) + 1) / 3;
  const auto edges = knots(parameters, bins);
  const auto slopes = at::constant_pad_nd(
      at::softplus(parameters.narrow(-1, 2 * bins, bins - 1) + kSlopeOffset)
          .add(kSplineMinimum),
      {1, 1}, 1);
  at::Tensor index;
  {
    const c10::NoGradGuard no_grad;
    const auto interior = edges.select(-2, axis).narrow(-1, 1, bins - 1);
    const auto first = position.unsqueeze(-1).ge(interior).sum(-1, true);
    index = at::cat({first, first + 1}, -1);
  }
  const auto picked = at::take_along_dim(edges, index.unsqueeze(-2), -1);
  const auto size = picked.select(-1, 1) - picked.select(-1, 0);
  const auto slope = at::take_along_dim(slopes, index, -1);
  return {.left = picked.select(-1, 0).select(-1, kInput),
          .width = size.select(-1, kInput),
          .bottom = picked.select(-1, 0).select(-1, kOutput),
          .height = size.select(-1, kOutput),
          .slope_left = slope.select(-1, 0),
          .slope_right = slope.select(-1, 1)};
}

// The map inside a bin at the share t of its width.
struct InsideBin {
  at::Tensor share;      // of the bin's height
  at::Tensor log_slope;  // of the map in units of the domain
};

InsideBin evaluate(const Bin& bin, const at::Tensor& secant, const at::Tensor& t) {
  const auto rest = 1 - t;
  const auto between = t * rest;
  const auto denominator =
      secant + (bin.slope_left + bin.slope_right - 2 * secant) * between;
  const auto numerator =
      bin.slope_right * t * t + 2 * secant * between + bin.slope_left * rest * rest;
  return {.share = (secant * t * t + bin.slope_left * between) / denominator,
          .log_slope = 2 * at::log(secant / denominator) + at::log(numerator)};
}

ElementwiseResult pick(const at::Tensor& inside, const at::Tensor& position,
                       const at::Tensor& values, const at::Tensor& log_slopes,
                       double bound) {
  return {at::where(inside, values * (2 * bound) - bound, position),
          at::where(inside, log_slopes, at::zeros_like(log_slopes))};
}

}  // namespace

ElementwiseResult spline_forward(const at::Tensor& inputs, const at::Tensor& parameters,
                                 double bound) {
  const auto inside = inputs.abs() < bound;
  const auto position = (inputs.clamp(-bound, bound) + bound) / (2 * bound);
  const auto bin = find_bin(position, parameters, kInput);
  const auto secant = bin.height / bin.width;
  const auto t = ((position - bin.left) / bin.width).clamp(0, 1);
  const auto inside_bin = evaluate(bin, secant, t);
  return pick(inside, inputs, bin.bottom + bin.height * inside_bin.share,
              inside_bin.log_slope, bound);
}

ElementwiseResult spline_inverse(const at::Tensor& outputs,
                                 const at::Tensor& parameters, double bound) {
  const auto inside = outputs.abs() < bound;
  const auto position = (outputs.clamp(-bound, bound) + bound) / (2 * bound);
  const auto bin = find_bin(position, parameters, kOutput);
  const auto secant = bin.height / bin.width;
  const auto rise = (position - bin.bottom).clamp_min(0);
  const auto curvature = bin.slope_left + bin.slope_right - 2 * secant;
  // The root in [0, 1] of a t^2 + b t + c, in the form that needs no a > 0.
  const auto a = bin.height * (secant - bin.slope_left) + rise * curvature;
  const auto b = bin.height * bin.slope_left - rise * curvature;
  const auto c = -secant * rise;
  const auto discriminant = (b * b - 4 * a * c).clamp_min(0);
  const auto root = (2 * c / (-b - discriminant.sqrt())).clamp(0, 1);
  // Where the map is flat the root has lost digits; one step of Newton brings them
  // back.
  const auto near = evaluate(bin, secant, root);
  const auto t =
      (root - (near.share - rise / bin.height) * secant / near.log_slope.exp())
          .clamp(0, 1);
  return pick(inside, outputs, bin.left + t * bin.width,
              -evaluate(bin, secant, t).log_slope, bound);
}

}  // namespace kinflow
