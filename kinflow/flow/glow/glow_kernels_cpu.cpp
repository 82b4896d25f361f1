// The kernels of Glow flows on a CPU.

#include <algorithm>
#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/glow_kernels.h"

namespace kinflow {
namespace {

// Numbers that a thread takes at least.
constexpr std::int64_t kGrain = 32768;

template <typename Real>
Real* row(const MatrixView& matrix, std::int64_t index) {
  return static_cast<Real*>(matrix.data) + index * matrix.stride;
}

template <typename Work>
void for_rows(std::int64_t rows, std::int64_t columns, const Work& work) {
  nd::parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / columns),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t r = begin; r < end; ++r) work(r);
                   });
}

template <typename Real>
void add_rows(const MatrixView& values, const MatrixView& sums) {
  Real* total = row<Real>(sums, 0);
  std::fill_n(total, values.columns, Real{0});
  for (std::int64_t r = 0; r < values.rows; ++r) {
    const Real* value = row<Real>(values, r);
    for (std::int64_t c = 0; c < values.columns; ++c) total[c] += value[c];
  }
}

// Calls work(tap, neighbour) for the neighbours of a pixel that exist.
template <typename Work>
void for_neighbours(const PixelGrid& grid, std::int64_t pixel, const Work& work) {
  const std::int64_t x = pixel % grid.width, y = pixel / grid.width % grid.height;
  for (std::int64_t tap = 0; tap < 9; ++tap) {
    const std::int64_t down = tap / 3 - 1, right = tap % 3 - 1;
    if (y + down < 0 || y + down >= grid.height || x + right < 0 ||
        x + right >= grid.width) {
      continue;
    }
    work(tap, pixel + down * grid.width + right);
  }
}

template <typename Real>
Real log_scale(Real raw) {
  return 2 * std::tanh(raw / 2);
}

template <typename Real>
class Kernels {
 public:
  static void add_bias_and_rectify(const MatrixView& values, const MatrixView& bias) {
    const Real* add = row<Real>(bias, 0);
    for_rows(values.rows, values.columns, [&](std::int64_t r) {
      Real* value = row<Real>(values, r);
      for (std::int64_t c = 0; c < values.columns; ++c) {
        value[c] = std::max(value[c] + add[c], Real{0});
      }
    });
  }

  static void rectify_backward(const MatrixView& slopes, const MatrixView& values,
                               const MatrixView& sums) {
    for_rows(values.rows, values.columns, [&](std::int64_t r) {
      Real* slope = row<Real>(slopes, r);
      const Real* value = row<Real>(values, r);
      for (std::int64_t c = 0; c < values.columns; ++c) {
        slope[c] = value[c] > 0 ? slope[c] : Real{0};
      }
    });
    add_rows<Real>(slopes, sums);
  }

  static void gather_taps(const PixelGrid& grid, const MatrixView& taps,
                          const MatrixView& bias, const MatrixView& result) {
    const std::int64_t columns = result.columns;
    for_rows(grid.pixels(), 9 * columns, [&](std::int64_t pixel) {
      Real* sum = row<Real>(result, pixel);
      std::copy_n(row<Real>(bias, 0), columns, sum);
      for_neighbours(grid, pixel, [&](std::int64_t tap, std::int64_t neighbour) {
        const Real* value = row<Real>(taps, neighbour) + tap * columns;
        for (std::int64_t c = 0; c < columns; ++c) sum[c] += value[c];
      });
      for (std::int64_t c = 0; c < columns; ++c) sum[c] = std::max(sum[c], Real{0});
    });
  }

  static void spread_taps(const PixelGrid& grid, const MatrixView& slopes,
                          const MatrixView& taps) {
    const std::int64_t columns = slopes.columns;
    for_rows(grid.pixels(), 9 * columns, [&](std::int64_t pixel) {
      Real* spread = row<Real>(taps, pixel);
      std::fill_n(spread, 9 * columns, Real{0});
      for_neighbours(grid, pixel, [&](std::int64_t opposite, std::int64_t neighbour) {
        std::copy_n(row<Real>(slopes, neighbour), columns,
                    spread + (8 - opposite) * columns);
      });
    });
  }

  static void gate(const MatrixView& input, const MatrixView& gates,
                   const MatrixView& bias, const MatrixView& result) {
    const std::int64_t columns = result.columns;
    const Real* add = row<Real>(bias, 0);
    for_rows(result.rows, 3 * columns, [&](std::int64_t r) {
      Real *gated = row<Real>(gates, r), *sum = row<Real>(result, r);
      const Real* before = row<Real>(input, r);
      for (std::int64_t c = 0; c < 3 * columns; ++c) gated[c] += add[c];
      for (std::int64_t c = 0; c < columns; ++c) {
        sum[c] = before[c] + gated[c] +
                 gated[columns + c] / (1 + std::exp(-gated[2 * columns + c]));
      }
    });
  }

  static void gate_backward(const MatrixView& slopes, const MatrixView& gates,
                            const MatrixView& gate_slopes, const MatrixView& sums) {
    const std::int64_t columns = slopes.columns;
    for_rows(slopes.rows, 3 * columns, [&](std::int64_t r) {
      const Real *slope = row<Real>(slopes, r), *gated = row<Real>(gates, r);
      Real* result = row<Real>(gate_slopes, r);
      for (std::int64_t c = 0; c < columns; ++c) {
        const Real open = 1 / (1 + std::exp(-gated[2 * columns + c]));
        result[c] = slope[c];
        result[columns + c] = slope[c] * open;
        result[2 * columns + c] = slope[c] * gated[columns + c] * open * (1 - open);
      }
    });
    add_rows<Real>(gate_slopes, sums);
  }

  static void add_and_sum(const MatrixView& part, const MatrixView& total,
                          const MatrixView& sums) {
    for_rows(total.rows, total.columns, [&](std::int64_t r) {
      const Real* add = row<Real>(part, r);
      Real* value = row<Real>(total, r);
      for (std::int64_t c = 0; c < total.columns; ++c) value[c] += add[c];
    });
    add_rows<Real>(total, sums);
  }

  static void couple(const PixelGrid& grid, const MatrixView& data,
                     const MatrixView& changes, const MatrixView& result,
                     const MatrixView& log_abs_det) {
    const std::int64_t pixels = grid.height * grid.width, half = data.columns / 2;
    for_rows(grid.images, pixels * half, [&](std::int64_t image) {
      double total = 0;
      for (std::int64_t pixel = image * pixels; pixel < (image + 1) * pixels; ++pixel) {
        const Real *value = row<Real>(data, pixel), *change = row<Real>(changes, pixel);
        Real* mapped = row<Real>(result, pixel);
        for (std::int64_t c = 0; c < half; ++c) {
          const Real log = log_scale(change[c]);
          mapped[c] = value[c];
          mapped[half + c] = change[half + c] + std::exp(log) * value[half + c];
          total += log;
        }
      }
      row<Real>(log_abs_det, 0)[image] += static_cast<Real>(total);
    });
  }

  static void couple_backward(const MatrixView& data, const MatrixView& changes,
                              const MatrixView& slopes, double log_abs_det_slope,
                              const MatrixView& data_slopes,
                              const MatrixView& change_slopes) {
    const std::int64_t half = data.columns / 2;
    for_rows(data.rows, data.columns, [&](std::int64_t r) {
      const Real *value = row<Real>(data, r), *change = row<Real>(changes, r);
      const Real* slope = row<Real>(slopes, r);
      Real *data_slope = row<Real>(data_slopes, r),
           *change_slope = row<Real>(change_slopes, r);
      for (std::int64_t c = 0; c < half; ++c) {
        const Real bend = std::tanh(change[c] / 2), scale = std::exp(2 * bend);
        data_slope[c] = slope[c];
        data_slope[half + c] = slope[half + c] * scale;
        change_slope[half + c] = slope[half + c];
        change_slope[c] = (slope[half + c] * value[half + c] * scale +
                           static_cast<Real>(log_abs_det_slope)) *
                          (1 - bend * bend);
      }
    });
  }

  static void uncouple(const MatrixView& values, const MatrixView& changes) {
    const std::int64_t half = values.columns / 2;
    for_rows(values.rows, values.columns, [&](std::int64_t r) {
      Real* value = row<Real>(values, r);
      const Real* change = row<Real>(changes, r);
      for (std::int64_t c = 0; c < half; ++c) {
        value[half + c] =
            (value[half + c] - change[half + c]) * std::exp(-log_scale(change[c]));
      }
    });
  }
};

// Calls the function for the numbers' type; all matrices of a call have one.
#define KINFLOW_BY_TYPE(function, type, ...)                          \
  ((type) == Number::float64 ? Kernels<double>::function(__VA_ARGS__) \
                             : Kernels<float>::function(__VA_ARGS__))

class CpuGlowKernels final : public GlowKernels {
 public:
  std::int64_t sum_parts() const override { return 1; }
  void add_bias_and_rectify(const MatrixView& values,
                            const MatrixView& bias) const override {
    KINFLOW_BY_TYPE(add_bias_and_rectify, values.type, values, bias);
  }
  void rectify_backward(const MatrixView& slopes, const MatrixView& values,
                        const MatrixView& sums) const override {
    KINFLOW_BY_TYPE(rectify_backward, values.type, slopes, values, sums);
  }
  void gather_taps(const PixelGrid& grid, const MatrixView& taps,
                   const MatrixView& bias, const MatrixView& result) const override {
    KINFLOW_BY_TYPE(gather_taps, taps.type, grid, taps, bias, result);
  }
  void spread_taps(const PixelGrid& grid, const MatrixView& slopes,
                   const MatrixView& taps) const override {
    KINFLOW_BY_TYPE(spread_taps, taps.type, grid, slopes, taps);
  }
  void gate(const MatrixView& input, const MatrixView& gates, const MatrixView& bias,
            const MatrixView& result) const override {
    KINFLOW_BY_TYPE(gate, gates.type, input, gates, bias, result);
  }
  void gate_backward(const MatrixView& slopes, const MatrixView& gates,
                     const MatrixView& gate_slopes,
                     const MatrixView& sums) const override {
    KINFLOW_BY_TYPE(gate_backward, gates.type, slopes, gates, gate_slopes, sums);
  }
  void add_and_sum(const MatrixView& part, const MatrixView& total,
                   const MatrixView& sums) const override {
    KINFLOW_BY_TYPE(add_and_sum, total.type, part, total, sums);
  }
  void couple(const PixelGrid& grid, const MatrixView& data, const MatrixView& changes,
              const MatrixView& result, const MatrixView& log_abs_det) const override {
    KINFLOW_BY_TYPE(couple, data.type, grid, data, changes, result, log_abs_det);
  }
  void couple_backward(const MatrixView& data, const MatrixView& changes,
                       const MatrixView& slopes, double log_abs_det_slope,
                       const MatrixView& data_slopes,
                       const MatrixView& change_slopes) const override {
    KINFLOW_BY_TYPE(couple_backward, data.type, data, changes, slopes,
                    log_abs_det_slope, data_slopes, change_slopes);
  }
  void uncouple(const MatrixView& values, const MatrixView& changes) const override {
    KINFLOW_BY_TYPE(uncouple, values.type, values, changes);
  }
};

#undef KINFLOW_BY_TYPE

}  // namespace

const GlowKernels& cpu_glow_kernels() {
  static const CpuGlowKernels kernels;
  return kernels;
}

}  // namespace kinflow
