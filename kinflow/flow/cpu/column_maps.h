// The element-wise maps of coupling layers on vectors of rows: rational-quadratic
// spline and affine, both ways, and their gradients. model.md has the formulas.
#pragma once

#include "kinflow/flow/cpu/kernel_plan.h"
#include "kinflow/flow/cpu/simd.h"
#include "kinflow/flow/spline_constants.h"

namespace kinflow {
namespace {

template <typename Real>
inline Vec<Real> sigmoid(const Vec<Real>& x) {
  return Real(1) / (Real(1) + exponential<Real>(-x));
}

/// log(1 + e^x), to the precision of an addend of a number near 1.
template <typename Real>
inline Vec<Real> softplus(const Vec<Real>& x) {
  const Vec<Real> zero = {};
  const Vec<Real> size = x < zero ? -x : x;
  return larger(x, zero) + logarithm<Real>(Real(1) + exponential<Real>(-size));
}

/// The bin of each of a vector of rows.
template <typename Real>
struct Bin {
  Vec<Real> number;                       // from 0
  Vec<Real> left, width, bottom, height;  // in shares of the domain
  Vec<Real> slope_left, slope_right;
  Vec<Real> width_before, height_before;  // probabilities of all bins before
  Vec<Real> width_scale, height_scale;    // 1 / sum of the exponentials
};

/// Raw parameters of a column for the rows of a vector, [3K - 1] at steps of a tile.
template <typename Real>
struct SplineParameters {
  Real* raw;
  std::int64_t bins;
  Real* width(std::int64_t k) const { return raw + k * kTileRows; }
  Real* height(std::int64_t k) const { return raw + (bins + k) * kTileRows; }
  Real* slope(std::int64_t k) const { return raw + (2 * bins + k) * kTileRows; }
};

/// Replaces K logits by exponentials of what they are above the largest, and gives
/// 1 / their sum.
template <typename Real>
inline Vec<Real> exponentials_of_logits(Real* logits, std::int64_t bins) {
  Vec<Real> largest = load(logits);
  for (std::int64_t k = 1; k < bins; ++k) {
    largest = larger(largest, load(logits + k * kTileRows));
  }
  Vec<Real> sum = {};
  for (std::int64_t k = 0; k < bins; ++k) {
    const Vec<Real> e = exponential<Real>(load(logits + k * kTileRows) - largest);
    store(logits + k * kTileRows, e);
    sum += e;
  }
  return Real(1) / sum;
}

template <typename Real>
inline Vec<Real> slope_of(const Vec<Real>& raw) {
  return softplus<Real>(raw + Real(kSlopeOffset)) + Real(kSplineMinimum);
}

/// Finds the bin that holds `position` (in [0, 1]) on the axis of the widths, or with
/// OnOutput on that of the heights. The logits become exponentials.
template <bool OnOutput, typename Real>
inline Bin<Real> find_bin(const SplineParameters<Real>& parameters,
                          const Vec<Real>& position) {
  using V = Vec<Real>;
  const std::int64_t bins = parameters.bins;
  const Real minimum = Real(kSplineMinimum);
  const Real rest = Real(1) - minimum * Real(bins);
  Bin<Real> bin{};
  bin.width_scale = exponentials_of_logits(parameters.width(0), bins);
  bin.height_scale = exponentials_of_logits(parameters.height(0), bins);
  V width = load(parameters.width(0)), height = load(parameters.height(0));
  V widths = {}, heights = {};  // sums of exponentials so far
  V left_raw = {}, right_raw = bins > 1 ? load(parameters.slope(0)) : V{};
  for (std::int64_t k = 0; k + 1 < bins; ++k) {
    widths += load(parameters.width(k));
    heights += load(parameters.height(k));
    const Real floor = minimum * Real(k + 1);
    const V x = widths * bin.width_scale * rest + floor;
    const V y = heights * bin.height_scale * rest + floor;
    const auto beyond = position >= (OnOutput ? y : x);
    bin.number = beyond ? fill<Real>(Real(k + 1)) : bin.number;
    bin.left = beyond ? x : bin.left;
    bin.bottom = beyond ? y : bin.bottom;
    bin.width_before = beyond ? widths : bin.width_before;
    bin.height_before = beyond ? heights : bin.height_before;
    width = beyond ? load(parameters.width(k + 1)) : width;
    height = beyond ? load(parameters.height(k + 1)) : height;
    left_raw = beyond ? load(parameters.slope(k)) : left_raw;
    if (k + 2 < bins) right_raw = beyond ? load(parameters.slope(k + 1)) : right_raw;
  }
  bin.width_before *= bin.width_scale;
  bin.height_before *= bin.height_scale;
  bin.width = width * bin.width_scale * rest + minimum;
  bin.height = height * bin.height_scale * rest + minimum;
  const V one = fill<Real>(1);
  bin.slope_left = bin.number == V{} ? one : slope_of<Real>(left_raw);
  bin.slope_right =
      bin.number == fill<Real>(Real(bins - 1)) ? one : slope_of<Real>(right_raw);
  return bin;
}

/// The map inside a bin at the share t of its width.
template <typename Real>
struct InsideBin {
  Vec<Real> between;  // t (1 - t)
  Vec<Real> denominator;
  Vec<Real> numerator;  // of the slope
  Vec<Real> share;      // of the bin's height

  InsideBin(const Bin<Real>& bin, const Vec<Real>& secant, const Vec<Real>& t) {
    const Vec<Real> rest = Real(1) - t;
    between = t * rest;
    denominator = secant + (bin.slope_left + bin.slope_right - 2 * secant) * between;
    numerator =
        bin.slope_right * t * t + 2 * secant * between + bin.slope_left * rest * rest;
    share = (secant * t * t + bin.slope_left * between) / denominator;
  }
};

template <typename Real>
inline Vec<Real> clamp(const Vec<Real>& x, Real low, Real high) {
  return smaller(larger(x, fill(low)), fill(high));
}

/// |x| < bound
template <typename Real>
inline auto is_inside(const Vec<Real>& x, Real bound) {
  return (x < fill(bound)) & (x > fill(-bound));
}

/// Data to latents for one column and a vector of rows: the new values; adds the log
/// slopes. Leaves kSaved numbers a row at `saved`, at steps of a tile.
template <typename Real>
inline Vec<Real> spline_to_latent(const SplineParameters<Real>& parameters, Real bound,
                                  const Vec<Real>& x, Real* saved, Real* log_abs_det) {
  using V = Vec<Real>;
  const V position = (clamp(x, -bound, bound) + bound) * (Real(0.5) / bound);
  const Bin<Real> bin = find_bin<false>(parameters, position);
  const V secant = bin.height / bin.width;
  const V t = clamp<Real>((position - bin.left) / bin.width, 0, 1);
  const InsideBin<Real> inner(bin, secant, t);
  const auto inside = is_inside(x, bound);
  const V ratio = secant / inner.denominator;
  const V slope = logarithm<Real>(inner.numerator * ratio * ratio);
  store(log_abs_det, load(log_abs_det) + (inside ? slope : V{}));
  const V kept[] = {x,
                    t,
                    bin.number,
                    bin.width,
                    bin.height,
                    bin.slope_left,
                    bin.slope_right,
                    bin.width_before,
                    bin.height_before,
                    bin.width_scale,
                    bin.height_scale};
  for (const V& value : kept) {
    store(saved, value);
    saved += kTileRows;
  }
  return inside ? (bin.bottom + bin.height * inner.share) * (2 * bound) - bound : x;
}

/// The logits' gradients of one axis from those in the bin's edge and size; the
/// exponentials are overwritten.
template <typename Real>
inline void softmax_gradient(Real* exponentials, std::int64_t bins,
                             const Vec<Real>& number, const Vec<Real>& before,
                             const Vec<Real>& size, const Vec<Real>& scale,
                             const Vec<Real>& edge_slope, const Vec<Real>& size_slope) {
  using V = Vec<Real>;
  const Real rest = Real(1) - Real(kSplineMinimum) * Real(bins);
  const V own = (size - Real(kSplineMinimum)) / rest;
  const V mean = edge_slope * before + size_slope * own;
  const V factor = scale * rest;
  for (std::int64_t k = 0; k < bins; ++k) {
    const V here = fill<Real>(Real(k));
    const V slope = here < number ? edge_slope : (here == number ? size_slope : V{});
    Real* at = exponentials + k * kTileRows;
    store(at, load(at) * factor * (slope - mean));
  }
}

/// Gradient of the map: takes the gradients in the column's new values and in
/// log_abs_det, replaces the parameters by their gradients, gives that in x.
template <typename Real>
inline Vec<Real> spline_gradient(const SplineParameters<Real>& parameters, Real bound,
                                 const Real* saved, const Vec<Real>& value_slope,
                                 const Vec<Real>& log_slope) {
  using V = Vec<Real>;
  V kept[11];
  for (V& value : kept) {
    value = load(saved);
    saved += kTileRows;
  }
  const V x = kept[0], t = kept[1];
  Bin<Real> bin{};
  bin.number = kept[2];
  bin.width = kept[3];
  bin.height = kept[4];
  bin.slope_left = kept[5];
  bin.slope_right = kept[6];
  const auto inside = is_inside(x, bound);
  const V gy = inside ? value_slope * (2 * bound) : V{};
  const V gl = inside ? log_slope : V{};

  const V secant = bin.height / bin.width;
  const InsideBin<Real> inner(bin, secant, t);
  const V tilt = Real(1) - 2 * t;
  const V per_share = gy * bin.height / inner.denominator;
  const V per_numerator = gl / inner.numerator;
  // What every change of the denominator does to share and log slope.
  const V per_denominator = -per_share * inner.share - 2 * gl / inner.denominator;
  const V rest = Real(1) - t;
  const V g_secant = per_share * t * t +
                     per_denominator * (Real(1) - 2 * inner.between) +
                     per_numerator * 2 * inner.between + 2 * gl / secant;
  const V g_t =
      per_share * (2 * secant * t + bin.slope_left * tilt) +
      per_denominator * (bin.slope_left + bin.slope_right - 2 * secant) * tilt +
      per_numerator * 2 * (bin.slope_right * t + secant * tilt - bin.slope_left * rest);
  const V g_left_slope =
      (per_share + per_denominator) * inner.between + per_numerator * rest * rest;
  const V g_right_slope = per_denominator * inner.between + per_numerator * t * t;

  const V per_width = Real(1) / bin.width;
  const V g_position = g_t * per_width;
  const V g_height = gy * inner.share + g_secant * per_width;
  const V g_width = -(g_secant * secant + g_t * t) * per_width;

  softmax_gradient(parameters.width(0), parameters.bins, bin.number, kept[7], bin.width,
                   kept[9], V(-g_position), g_width);
  softmax_gradient(parameters.height(0), parameters.bins, bin.number, kept[8],
                   bin.height, kept[10], gy, g_height);
  for (std::int64_t k = 0; k + 1 < parameters.bins; ++k) {
    const V left = bin.number == fill<Real>(Real(k + 1)) ? g_left_slope : V{};
    const V right = bin.number == fill<Real>(Real(k)) ? g_right_slope : V{};
    // softplus' = 1 - e^-softplus, with the slope at knot k on either side of it.
    const V slope =
        bin.number == fill<Real>(Real(k)) ? bin.slope_right : bin.slope_left;
    const V both = left + right;
    store(parameters.slope(k),
          both * (Real(1) - exponential<Real>(Real(kSplineMinimum) - slope)));
  }
  return inside ? g_position * (Real(0.5) / bound) : value_slope;
}

/// Latents to data for one column and a vector of rows.
template <typename Real>
inline Vec<Real> spline_from_latent(const SplineParameters<Real>& parameters,
                                    Real bound, const Vec<Real>& y) {
  using V = Vec<Real>;
  const V position = (clamp(y, -bound, bound) + bound) * (Real(0.5) / bound);
  const Bin<Real> bin = find_bin<true>(parameters, position);
  const V secant = bin.height / bin.width;
  const V rise = larger(V(position - bin.bottom), V{});
  const V curvature = bin.slope_left + bin.slope_right - 2 * secant;
  // The root in [0, 1] of a t^2 + b t + c, in the form that needs no a > 0.
  const V a = bin.height * (secant - bin.slope_left) + rise * curvature;
  const V b = bin.height * bin.slope_left - rise * curvature;
  const V c = -secant * rise;
  const V discriminant = larger(V(b * b - 4 * a * c), V{});
  const V root = clamp<Real>(2 * c / (-b - square_root<Real>(discriminant)), 0, 1);
  // Where the map is flat the root has lost digits; one step of Newton brings them
  // back.
  const InsideBin<Real> near(bin, secant, root);
  const V ratio = secant / near.denominator;
  const V slope = near.numerator * ratio * ratio;
  const V t =
      clamp<Real>(root - (near.share - rise / bin.height) * secant / slope, 0, 1);
  return is_inside(y, bound) ? (bin.left + t * bin.width) * (2 * bound) - bound : y;
}

/// Affine map; leaves the value and the sigmoid at `saved`.
template <typename Real>
inline Vec<Real> affine_to_latent(const Real* parameters, const Vec<Real>& x,
                                  Real* saved, Real* log_abs_det) {
  const Vec<Real> share = sigmoid<Real>(load(parameters));
  const Vec<Real> scale = share + Real(0.5);
  store(log_abs_det, load(log_abs_det) + logarithm<Real>(scale));
  store(saved, x);
  store(saved + kTileRows, share);
  return x * scale + load(parameters + kTileRows);
}

template <typename Real>
inline Vec<Real> affine_gradient(Real* parameters, const Real* saved,
                                 const Vec<Real>& value_slope,
                                 const Vec<Real>& log_slope) {
  const Vec<Real> x = load(saved), share = load(saved + kTileRows);
  const Vec<Real> scale = share + Real(0.5);
  store(parameters, (value_slope * x + log_slope / scale) * share * (Real(1) - share));
  store(parameters + kTileRows, value_slope);
  return value_slope * scale;
}

template <typename Real>
inline Vec<Real> affine_from_latent(const Real* parameters, const Vec<Real>& y) {
  return (y - load(parameters + kTileRows)) /
         (sigmoid<Real>(load(parameters)) + Real(0.5));
}

}  // namespace
}  // namespace kinflow
