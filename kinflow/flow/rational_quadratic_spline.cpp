// Spline arithmetic in units where the domain and the range are both [0, 1].
#include "kinflow/flow/rational_quadratic_spline.h"

#include <cmath>

#include "kinflow/array/array.h"

namespace kinflow {
namespace {

// The bin of every input: its edges on both axes and the slopes at the edges.
struct Bin {
  Array left, width, bottom, height;
  Array slope_left, slope_right;
};

enum Axis { kInput = 0, kOutput = 1 };

// Knots of both axes: [..., 2, K + 1], from 0 to 1 exactly.
Array knots(const Array& parameters, std::int64_t bins) {
  const auto logits = parameters.narrow(-1, 0, 2 * bins).unflatten(-1, {2, bins});
  const auto sizes = nd::softmax(logits, -1)
                         .mul(1 - kSplineMinimum * static_cast<double>(bins))
                         .add(kSplineMinimum);
  const auto interior = nd::cumsum(sizes.narrow(-1, 0, bins - 1), -1);
  return nd::constant_pad_nd(nd::constant_pad_nd(interior, {1, 0}, 0), {0, 1}, 1);
}

// Finds the bin that holds `position` (in [0, 1]) on one axis.
Bin find_bin(const Array& position, const Array& parameters, Axis axis) {
  const std::int64_t bins = (parameters.size(-1) + 1) / 3;
  const auto edges = knots(parameters, bins);
  const auto slopes = nd::constant_pad_nd(
      nd::softplus(parameters.narrow(-1, 2 * bins, bins - 1) + kSlopeOffset)
          .add(kSplineMinimum),
      {1, 1}, 1);
  Array index;
  {
    const auto interior = edges.select(-2, axis).narrow(-1, 1, bins - 1);
    const auto first = position.unsqueeze(-1).ge(interior).sum(-1, true);
    index = nd::cat({first, first + 1}, -1);
  }
  const auto picked = nd::take_along_dim(edges, index.unsqueeze(-2), -1);
  const auto size = picked.select(-1, 1) - picked.select(-1, 0);
  const auto slope = nd::take_along_dim(slopes, index, -1);
  return {.left = picked.select(-1, 0).select(-1, kInput),
          .width = size.select(-1, kInput),
          .bottom = picked.select(-1, 0).select(-1, kOutput),
          .height = size.select(-1, kOutput),
          .slope_left = slope.select(-1, 0),
          .slope_right = slope.select(-1, 1)};
}

// The map inside a bin at the share t of its width.
struct InsideBin {
  Array share;      // of the bin's height
  Array log_slope;  // of the map in units of the domain
};

InsideBin evaluate(const Bin& bin, const Array& secant, const Array& t) {
  const auto rest = 1 - t;
  const auto between = t * rest;
  const auto denominator =
      secant + (bin.slope_left + bin.slope_right - 2 * secant) * between;
  const auto numerator =
      bin.slope_right * t * t + 2 * secant * between + bin.slope_left * rest * rest;
  return {.share = (secant * t * t + bin.slope_left * between) / denominator,
          .log_slope = 2 * nd::log(secant / denominator) + nd::log(numerator)};
}

ElementwiseResult pick(const Array& inside, const Array& position, const Array& values,
                       const Array& log_slopes, double bound) {
  return {nd::where(inside, values * (2 * bound) - bound, position),
          nd::where(inside, log_slopes, nd::zeros_like(log_slopes))};
}

}  // namespace

ElementwiseResult spline_forward(const Array& inputs, const Array& parameters,
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

ElementwiseResult spline_inverse(const Array& outputs, const Array& parameters,
                                 double bound) {
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
