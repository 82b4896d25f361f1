// What a Glow flow does to its numbers beside matrix products: element by element and
// pixel by pixel, for a CPU and for a GPU. Plain pointers.
#pragma once

#include <cstdint>
#include <memory>

namespace kinflow {

enum class Number { float32, float64, bfloat16 };

/// A matrix in memory, row-major, `stride` numbers from row to row. On a GPU columns,
/// strides and addresses of all but the couplings' matrices are multiples of 8 numbers.
struct MatrixView {
  void* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;
  Number type = Number::float32;
};

/// Images as a matrix with a row for each pixel: image by image, row by row.
struct PixelGrid {
  std::int64_t images = 0, height = 0, width = 0;
  std::int64_t pixels() const { return images * height * width; }
};

/// "Sums" of a function are sums over rows, left in parts that must still be added up:
/// [sum_parts(), columns], of the type that biases have: float32 for bfloat16 values.
/// Results are the same whenever they are computed again.
class GlowKernels {
 public:
  virtual ~GlowKernels() = default;

  virtual std::int64_t sum_parts() const = 0;

  /// values := max(values + bias, 0). @param bias [1, columns]
  virtual void add_bias_and_rectify(const MatrixView& values,
                                    const MatrixView& bias) const = 0;
  /// slopes := slopes where values > 0, else 0; and their sums.
  virtual void rectify_backward(const MatrixView& slopes, const MatrixView& values,
                                const MatrixView& sums) const = 0;

  /// The end of a 3 x 3 convolution: result := max(sum over taps + bias, 0), where tap
  /// t of a pixel is that in `taps` [pixels, 9 columns] of its neighbour t.
  virtual void gather_taps(const PixelGrid& grid, const MatrixView& taps,
                           const MatrixView& bias, const MatrixView& result) const = 0;
  /// The transpose: tap t of a pixel is the slope of the neighbour opposite to t, 0
  /// beyond the border.
  virtual void spread_taps(const PixelGrid& grid, const MatrixView& slopes,
                           const MatrixView& taps) const = 0;

  /// result := input + a + b sigmoid(c), with (a, b, c) = gates + bias side by side;
  /// the gates keep the bias. @param result of the biases' type
  virtual void gate(const MatrixView& input, const MatrixView& gates,
                    const MatrixView& bias, const MatrixView& result) const = 0;
  /// Slopes of a, b, c from those of the result, and their sums.
  virtual void gate_backward(const MatrixView& slopes, const MatrixView& gates,
                             const MatrixView& gate_slopes,
                             const MatrixView& sums) const = 0;
  /// total := total + part, and its sums.
  virtual void add_and_sum(const MatrixView& part, const MatrixView& total,
                           const MatrixView& sums) const = 0;

  // Affine couplings. Matrices have c columns; of `changes` the first half are scales
  // s, the second shifts t. The first half of the channels stays as it is; the second
  // becomes t + exp(2 tanh(s / 2)) x.
  /// @param log_abs_det [1, images], to which the couplings' are added
  virtual void couple(const PixelGrid& grid, const MatrixView& data,
                      const MatrixView& changes, const MatrixView& result,
                      const MatrixView& log_abs_det) const = 0;
  /// @param log_abs_det_slope  of the log-determinant of each image
  virtual void couple_backward(const MatrixView& data, const MatrixView& changes,
                               const MatrixView& slopes, double log_abs_det_slope,
                               const MatrixView& data_slopes,
                               const MatrixView& change_slopes) const = 0;
  /// Takes couple() back, in place.
  virtual void uncouple(const MatrixView& values, const MatrixView& changes) const = 0;
};

const GlowKernels& cpu_glow_kernels();
/// On the stream of the calling thread. std::logic_error where this build has no CUDA
/// kernels.
const GlowKernels& cuda_glow_kernels();
/// @param current_stream  gives the stream of the calling thread
std::unique_ptr<GlowKernels> make_cuda_glow_kernels(void* (*current_stream)());

}  // namespace kinflow
