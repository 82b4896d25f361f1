// Products of a linear layer with a tile of rows: forward, gradient in the inputs,
// gradient in the weights. Blocks of the result stay in registers.
#pragma once

#include "kinflow/flow/cpu/kernel_plan.h"
#include "kinflow/flow/cpu/simd.h"

namespace kinflow {
namespace {

// Products merged into their callers lose registers to them.
#define KINFLOW_OWN_REGISTERS __attribute__((noinline))

// A block of results: kBlockFeatures x kBlockVectors vectors, as many as leave
// registers for what they are made of.
#if KINFLOW_VECTOR_BYTES == 64
inline constexpr int kBlockFeatures = 6;
inline constexpr int kBlockVectors = 4;
#else
inline constexpr int kBlockFeatures = 6;
inline constexpr int kBlockVectors = 2;
#endif

/// How many vectors of rows must be worked on, in whole blocks.
template <typename Real>
inline std::int64_t used_vectors(std::int64_t rows) {
  constexpr std::int64_t kRowsOfBlock = kBlockVectors * kLanes<Real>;
  return (rows + kRowsOfBlock - 1) / kRowsOfBlock * kBlockVectors;
}

/// For every feature f of a block of `Features` and all rows: sum over k of
/// weight[f * feature_step + k * sum_step] * source[k], from `start[f]`; hands the sums
/// to finish(feature, offset of the rows, vector).
template <int Features, typename Real, typename Finish>
inline void product_block(const Real* weight, std::int64_t feature_step,
                          std::int64_t sum_step, std::int64_t sums, const Real* source,
                          std::int64_t vectors, const Vec<Real>* start,
                          const Finish& finish) {
  for (std::int64_t v = 0; v < vectors; v += kBlockVectors) {
    Vec<Real> total[Features][kBlockVectors];
    for (int f = 0; f < Features; ++f) {
      for (int j = 0; j < kBlockVectors; ++j) total[f][j] = start[f];
    }
    const Real* rows = source + v * kLanes<Real>;
    const Real* w = weight;
    for (std::int64_t k = 0; k < sums; ++k, rows += kTileRows, w += sum_step) {
      Vec<Real> in[kBlockVectors];
      for (int j = 0; j < kBlockVectors; ++j) in[j] = load(rows + j * kLanes<Real>);
      for (int f = 0; f < Features; ++f) {
        const Real scale = w[f * feature_step];
        for (int j = 0; j < kBlockVectors; ++j) total[f][j] += scale * in[j];
      }
    }
    for (int f = 0; f < Features; ++f) {
      for (int j = 0; j < kBlockVectors; ++j) {
        finish(f, (v + j) * kLanes<Real>, total[f][j]);
      }
    }
  }
}

/// result [outputs][tile] = source [inputs][tile] * weight + bias.
template <typename Real>
KINFLOW_OWN_REGISTERS void apply_linear(const KernelLinear& linear, const Real* values,
                                        const Real* source, std::int64_t vectors,
                                        Real* result) {
  for_blocks<kBlockFeatures>(linear.outputs, [&]<int Features>(std::int64_t first) {
    Vec<Real> bias[Features];
    for (int f = 0; f < Features; ++f) {
      bias[f] = fill(values[linear.bias + first + f]);
    }
    product_block<Features>(values + linear.weight + first, 1, linear.outputs,
                            linear.inputs, source, vectors, bias,
                            [&](int f, std::int64_t row, const Vec<Real>& total) {
                              store(result + (first + f) * kTileRows + row, total);
                            });
  });
}

/// Gradient in the inputs of a linear layer from that in its outputs, [outputs][tile].
template <typename Real, typename Finish>
KINFLOW_OWN_REGISTERS void input_gradient(const KernelLinear& linear,
                                          const Real* values, const Real* outputs,
                                          std::int64_t inputs, std::int64_t vectors,
                                          const Finish& finish) {
  for_blocks<kBlockFeatures>(inputs, [&]<int Features>(std::int64_t first) {
    const Vec<Real> zero[Features] = {};
    product_block<Features>(values + linear.weight + first * linear.outputs,
                            linear.outputs, 1, linear.outputs, outputs, vectors, zero,
                            [&](int f, std::int64_t row, const Vec<Real>& total) {
                              finish((first + f) * kTileRows + row, total);
                            });
  });
}

/// Vectors a and b, element by element in turn; the low or the high half of that.
template <typename Real, bool High, int... I>
inline Vec<Real> interleave(const Vec<Real>& a, const Vec<Real>& b,
                            std::integer_sequence<int, I...>) {
  constexpr int kHalf = kLanes<Real> / 2;
  return __builtin_shufflevector(
      a, b, ((I / 2 + (High ? kHalf : 0)) + (I % 2 == 1 ? kLanes<Real> : 0))...);
}

/// Turns a square of lanes x lanes numbers: rows of `from` become columns of `to`.
template <typename Real>
inline void transpose_square(const Real* from, std::int64_t from_step, Real* to,
                             std::int64_t to_step) {
  constexpr int kSize = kLanes<Real>;
  constexpr auto kSequence = std::make_integer_sequence<int, kSize>();
  Vec<Real> a[kSize], b[kSize];
  for (int i = 0; i < kSize; ++i) a[i] = load(from + i * from_step);
  for (int round = 1; round < kSize; round *= 2) {
    for (int i = 0; i < kSize / 2; ++i) {
      b[2 * i] = interleave<Real, false>(a[i], a[i + kSize / 2], kSequence);
      b[2 * i + 1] = interleave<Real, true>(a[i], a[i + kSize / 2], kSequence);
    }
    for (int i = 0; i < kSize; ++i) a[i] = b[i];
  }
  for (int i = 0; i < kSize; ++i) store(to + i * to_step, a[i]);
}

/// Features rounded up to whole vectors.
template <typename Real>
constexpr std::int64_t padded(std::int64_t features) {
  return (features + kLanes<Real> - 1) / kLanes<Real> * kLanes<Real>;
}

/// [features][tile] -> [tile][padded features]. `from` has padded(features) rows, the
/// last of which may hold anything finite or not: they are not used later.
template <typename Real>
inline void transpose_tile(const Real* from, std::int64_t features, std::int64_t rows,
                           Real* to) {
  const std::int64_t width = padded<Real>(features);
  for (std::int64_t r = 0; r < rows; r += kLanes<Real>) {
    for (std::int64_t f = 0; f < width; f += kLanes<Real>) {
      transpose_square(from + f * kTileRows + r, kTileRows, to + r * width + f, width);
    }
  }
}

/// 0, 1, 2, ...
template <typename Real>
inline Vec<Real> lane_numbers() {
  Vec<Real> numbers;
  for (int i = 0; i < kLanes<Real>; ++i) numbers[i] = Real(i);
  return numbers;
}

/// Adds a vector to the first `count` numbers at `to`; none at `end` or beyond is
/// touched.
template <typename Real>
inline void add_to(Real* to, const Vec<Real>& vector, std::int64_t count,
                   const Real* end) {
  if (count >= kLanes<Real>) {
    store(to, load(to) + vector);
    return;
  }
  if (to + kLanes<Real> <= end) {
    // The numbers behind the last one stay as they are.
    const auto is_used = lane_numbers<Real>() < fill<Real>(Real(count));
    const Vec<Real> old = load(to);
    store(to, is_used ? old + vector : old);
    return;
  }
  Real numbers[kLanes<Real>];
  store(numbers, vector);
  for (std::int64_t i = 0; i < count; ++i) to[i] += numbers[i];
}

/// Adds the gradients in weight and bias.
/// @param source      [inputs][tile], what the layer was given
/// @param transposed  [tile][padded outputs], gradient in its outputs
/// @param end         of the gradients
template <typename Real>
KINFLOW_OWN_REGISTERS void add_weight_gradient(const KernelLinear& linear,
                                               const Real* source,
                                               const Real* transposed,
                                               std::int64_t rows, Real* gradient,
                                               const Real* end) {
  constexpr int kSize = kLanes<Real>;
  const std::int64_t width = padded<Real>(linear.outputs);
  for_blocks<kBlockVectors>(width / kSize, [&]<int Vectors>(std::int64_t vector) {
    const std::int64_t first = vector * kSize;
    const Real* block = transposed + first;
    const auto add = [&](Real* to, const Vec<Real>* totals) {
      for (int j = 0; j < Vectors; ++j) {
        add_to<Real>(to + first + j * kSize, totals[j],
                     linear.outputs - first - j * kSize, end);
      }
    };
    for_blocks<kBlockFeatures>(linear.inputs, [&]<int Features>(std::int64_t input) {
      Vec<Real> total[Features][Vectors] = {};
      const Real* in = source + input * kTileRows;
      const Real* out = block;
      for (std::int64_t r = 0; r < rows; ++r, out += width) {
        Vec<Real> slopes[Vectors];
        for (int j = 0; j < Vectors; ++j) slopes[j] = load(out + j * kSize);
        for (int f = 0; f < Features; ++f) {
          const Real scale = in[f * kTileRows + r];
          for (int j = 0; j < Vectors; ++j) total[f][j] += scale * slopes[j];
        }
      }
      for (int f = 0; f < Features; ++f) {
        add(gradient + linear.weight + (input + f) * linear.outputs, total[f]);
      }
    });
    Vec<Real> total[Vectors] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      for (int j = 0; j < Vectors; ++j) total[j] += load(block + r * width + j * kSize);
    }
    add(gradient + linear.bias, total);
  });
}

}  // namespace
}  // namespace kinflow
