// The element-wise maps of coupling layers for one warp: 16 rows, two lanes a row.
//
// Lane `row + 16 * half` looks at a row's bin widths (half 0) or heights (half 1); the
// two tell each other what they found. Parameters are in shared memory, and gradients
// take their place.
#pragma once

#include <cmath>

#include "kinflow/flow/spline_constants.h"

namespace kinflow {

constexpr unsigned kAllLanes = 0xffffffffu;

/// A row and an axis of a lane.
struct RowLane {
  int row, half;
  __device__ RowLane() : row(threadIdx.x & 15), half((threadIdx.x >> 4) & 1) {}
};

/// e^x to two units in the last place; 0 where that is below the smallest normal
/// number.
__device__ __forceinline__ float fast_exp(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.4426950408889634f));
  return result;
}

__device__ __forceinline__ float sigmoid(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(1.0f + fast_exp(-x)));
  return result;
}

/// The slope of the spline at an interior knot.
__device__ __forceinline__ float knot_slope(float raw) {
  const float x = raw + static_cast<float>(kSlopeOffset);
  return (x > 20.0f ? x : log1pf(expf(x))) + static_cast<float>(kSplineMinimum);
}

/// The sizes of a lane's bins before they are scaled: in registers where their number
/// is known to the compiler, in the place of their logits otherwise.
template <int kBins>
struct BinSizes {
  float size[kBins];
  __device__ __forceinline__ BinSizes(float* logits, int) {
#pragma unroll
    for (int k = 0; k < kBins; ++k) size[k] = logits[k];
  }
  __device__ __forceinline__ static constexpr int count() { return kBins; }
  __device__ __forceinline__ float get(int k) const { return size[k]; }
  __device__ __forceinline__ void set(int k, float value) { size[k] = value; }
};
template <>
struct BinSizes<0> {
  float* size;
  int bins;
  __device__ __forceinline__ BinSizes(float* logits, int from)
      : size(logits), bins(from) {}
  __device__ __forceinline__ int count() const { return bins; }
  __device__ __forceinline__ float get(int k) const { return size[k]; }
  __device__ __forceinline__ void set(int k, float value) { size[k] = value; }
};

/// The bin of a row, and what the lane's own axis needs for gradients.
struct SplineBin {
  int bin;
  float left, width, bottom, height;
  float slope_left, slope_right;
  float raw_left, raw_right;
  float total, before, own;  ///< sizes before scaling: all bins, those before, the bin
};

/// Finds the bin that holds `position` (in [0, 1]) on one axis: 0 for inputs, 1 for
/// outputs.
/// @param sizes  of the lane's axis; on entry logits, on return exponentials
/// @param slopes  parameters of the interior slopes
template <int kBins>
__device__ __forceinline__ SplineBin find_bin(BinSizes<kBins>& sizes,
                                              const float* slopes, float position,
                                              int axis, const RowLane& lane) {
  const int bins = sizes.count();
  constexpr float kMinimum = static_cast<float>(kSplineMinimum);
  const float share = 1.0f - kMinimum * static_cast<float>(bins);
  float most = sizes.get(0);
#pragma unroll(kBins > 0 ? kBins : 4)
  for (int k = 1; k < bins; ++k) most = fmaxf(most, sizes.get(k));
  float total = 0;
#pragma unroll(kBins > 0 ? kBins : 4)
  for (int k = 0; k < bins; ++k) {
    const float size = fast_exp(sizes.get(k) - most);
    sizes.set(k, size);
    total += size;
  }
  const float scale = share / total;

  float sum = 0;
  int bin = 0;
#pragma unroll(kBins > 0 ? kBins : 4)
  for (int k = 0; k + 1 < bins; ++k) {
    sum += sizes.get(k);
    const float edge = fmaf(scale, sum, kMinimum * static_cast<float>(k + 1));
    bin += position >= edge ? 1 : 0;
  }
  bin = __shfl_sync(kAllLanes, bin, lane.row + 16 * axis);
  float before = 0, own = sizes.get(0);
#pragma unroll(kBins > 0 ? kBins : 4)
  for (int k = 1; k < bins; ++k) {
    if (k <= bin) {
      before += own;
      own = sizes.get(k);
    }
  }
  const float begin =
      bin > 0 ? fmaf(scale, before, kMinimum * static_cast<float>(bin)) : 0.0f;
  const float end =
      bin + 1 < bins ? fmaf(scale, before + own, kMinimum * static_cast<float>(bin + 1))
                     : 1.0f;
  const float other_begin = __shfl_xor_sync(kAllLanes, begin, 16);
  const float other_end = __shfl_xor_sync(kAllLanes, end, 16);
  SplineBin result;
  result.bin = bin;
  result.total = total;
  result.before = before;
  result.own = own;
  result.left = lane.half ? other_begin : begin;
  result.width = lane.half ? other_end - other_begin : end - begin;
  result.bottom = lane.half ? begin : other_begin;
  result.height = lane.half ? end - begin : other_end - other_begin;
  result.raw_left = bin > 0 ? slopes[bin - 1] : 0.0f;
  result.raw_right = bin + 1 < bins ? slopes[bin] : 0.0f;
  result.slope_left = bin > 0 ? knot_slope(result.raw_left) : 1.0f;
  result.slope_right = bin + 1 < bins ? knot_slope(result.raw_right) : 1.0f;
  return result;
}

/// The rational-quadratic function at the share t of a bin's width.
struct InsideBin {
  float secant, t, between, numerator, denominator, slope_numerator;

  __device__ InsideBin(const SplineBin& bin, float share_of_width)
      : secant(bin.height / bin.width), t(share_of_width) {
    const float rest = 1.0f - t;
    between = t * rest;
    denominator = secant + (bin.slope_left + bin.slope_right - 2.0f * secant) * between;
    numerator = secant * t * t + bin.slope_left * between;
    slope_numerator = bin.slope_right * t * t + 2.0f * secant * between +
                      bin.slope_left * rest * rest;
  }
  __device__ float share() const { return numerator / denominator; }
  __device__ float log_slope() const {
    const float ratio = secant / denominator;
    return logf(slope_numerator * ratio * ratio);
  }
};

__device__ __forceinline__ float unit_position(float x, float bound) {
  return (fminf(fmaxf(x, -bound), bound) + bound) / (2.0f * bound);
}

__device__ __forceinline__ float clamped_share(float share) {
  return fminf(fmaxf(share, 0.0f), 1.0f);
}

struct MapResult {
  float value, log_slope;
};

template <int kBins>
__device__ __forceinline__ MapResult spline_forward(float x, float* parameters,
                                                    int bins, float bound,
                                                    const RowLane& lane) {
  const float position = unit_position(x, bound);
  BinSizes<kBins> sizes(parameters + lane.half * bins, bins);
  const SplineBin bin = find_bin(sizes, parameters + 2 * bins, position, 0, lane);
  const InsideBin inside(bin, clamped_share((position - bin.left) / bin.width));
  if (!(fabsf(x) < bound)) return {x, 0.0f};
  return {2.0f * bound * (bin.bottom + bin.height * inside.share()) - bound,
          inside.log_slope()};
}

template <int kBins>
__device__ __forceinline__ MapResult spline_inverse(float y, float* parameters,
                                                    int bins, float bound,
                                                    const RowLane& lane) {
  const float position = unit_position(y, bound);
  BinSizes<kBins> sizes(parameters + lane.half * bins, bins);
  const SplineBin bin = find_bin(sizes, parameters + 2 * bins, position, 1, lane);
  const float secant = bin.height / bin.width;
  const float rise = fmaxf(position - bin.bottom, 0.0f);
  const float curvature = bin.slope_left + bin.slope_right - 2.0f * secant;
  const float a = bin.height * (secant - bin.slope_left) + rise * curvature;
  const float b = bin.height * bin.slope_left - rise * curvature;
  const float c = -secant * rise;
  const float discriminant = fmaxf(b * b - 4.0f * a * c, 0.0f);
  const float root = clamped_share(2.0f * c / (-b - sqrtf(discriminant)));
  // Where the map is flat the root has lost digits; one step of Newton brings them
  // back. The share's slope in t is (s / D)^2 M / s.
  const InsideBin near(bin, root);
  const float ratio = secant / near.denominator;
  const float slope = near.slope_numerator * ratio * ratio;
  const InsideBin inside(
      bin, clamped_share(root - (near.share() - rise / bin.height) * secant / slope));
  if (!(fabsf(y) < bound)) return {y, 0.0f};
  return {2.0f * bound * (bin.left + inside.t * bin.width) - bound,
          -inside.log_slope()};
}

/// Replaces the row's parameters by the gradient in them and returns the one in x.
/// @param counts  whether the row is one of the batch
template <int kBins>
__device__ __forceinline__ float spline_backward(float x, float* parameters,
                                                 int runtime_bins, float bound,
                                                 bool counts, float grad_value,
                                                 float grad_log_slope,
                                                 const RowLane& lane) {
  const int bins = kBins > 0 ? kBins : runtime_bins;
  const float position = unit_position(x, bound);
  BinSizes<kBins> sizes(parameters + lane.half * bins, bins);
  const SplineBin bin = find_bin(sizes, parameters + 2 * bins, position, 0, lane);
  const InsideBin f(bin, clamped_share((position - bin.left) / bin.width));
  const bool inside = counts && fabsf(x) < bound;

  // q stands for the secant s, the share t and the two slopes d0 and d1.
  const float s = f.secant, t = f.t, rest = 1.0f - t, between = f.between;
  const float d0 = bin.slope_left, d1 = bin.slope_right;
  const float share = f.share();
  const float gy = 2.0f * bound * grad_value;
  const float by_value = gy * bin.height / f.denominator;
  const float by_slope = grad_log_slope / f.slope_numerator;
  const float by_denominator =
      -(by_value * share + 2.0f * grad_log_slope / f.denominator);
  const float grad_s = by_value * t * t + by_slope * 2.0f * between +
                       by_denominator * (1.0f - 2.0f * between) +
                       2.0f * grad_log_slope / s;
  const float grad_t =
      by_value * (2.0f * s * t + d0 * (1.0f - 2.0f * t)) +
      by_slope * (2.0f * d1 * t + 2.0f * s * (1.0f - 2.0f * t) - 2.0f * d0 * rest) +
      by_denominator * (d0 + d1 - 2.0f * s) * (1.0f - 2.0f * t);
  const float grad_d0 =
      by_value * between + by_slope * rest * rest + by_denominator * between;
  const float grad_d1 = by_slope * t * t + by_denominator * between;

  const float grad_height = gy * share + grad_s / bin.width;
  const float grad_width = -(grad_s * s + grad_t * t) / bin.width;
  const float grad_position = grad_t / bin.width;
  const float grad_begin = lane.half ? gy : -grad_position;
  const float grad_size = lane.half ? grad_height : grad_width;

  float* own = parameters + lane.half * bins;
  const float share_of_logits =
      1.0f - static_cast<float>(kSplineMinimum) * static_cast<float>(bins);
  const float mean = (grad_begin * bin.before + grad_size * bin.own) / bin.total;
  const float scale = inside ? share_of_logits / bin.total : 0.0f;
  const float before = scale * (grad_begin - mean), at = scale * (grad_size - mean),
              after = -scale * mean;
#pragma unroll(kBins > 0 ? kBins : 4)
  for (int k = 0; k < bins; ++k) {
    const float change = k < bin.bin ? before : k == bin.bin ? at : after;
    own[k] = inside ? sizes.get(k) * change : 0.0f;
  }
  // Both lanes have read the slopes' parameters.
  __syncwarp();
  float* slopes = parameters + 2 * bins;
  for (int k = lane.half; k + 1 < bins; k += 2) {
    float gradient = 0;
    if (inside && k + 1 == bin.bin) {
      gradient = grad_d0 * sigmoid(bin.raw_left + static_cast<float>(kSlopeOffset));
    }
    if (inside && k == bin.bin) {
      gradient = grad_d1 * sigmoid(bin.raw_right + static_cast<float>(kSlopeOffset));
    }
    slopes[k] = gradient;
  }
  return inside ? grad_position / (2.0f * bound) : grad_value;
}

/// x * (sigmoid(raw) + 1/2) + shift; parameters are raw and shift.
__device__ __forceinline__ MapResult affine_forward(float x, const float* parameters) {
  const float scale = sigmoid(parameters[0]) + 0.5f;
  return {x * scale + parameters[1], logf(scale)};
}

__device__ __forceinline__ MapResult affine_inverse(float y, const float* parameters) {
  const float scale = sigmoid(parameters[0]) + 0.5f;
  return {(y - parameters[1]) / scale, -logf(scale)};
}

__device__ __forceinline__ float affine_backward(float x, float* parameters,
                                                 bool counts, float grad_value,
                                                 float grad_log_slope) {
  const float share = sigmoid(parameters[0]), scale = share + 0.5f;
  parameters[0] =
      counts ? (grad_value * x + grad_log_slope / scale) * share * (1.0f - share)
             : 0.0f;
  parameters[1] = counts ? grad_value : 0.0f;
  return grad_value * scale;
}

}  // namespace kinflow
