// Work on whole sets of pixels and parameters in the training of image flows, for a CPU
// and for a GPU.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/engine/adamax.h"
#include "kinflow/engine/images/pixel_number.h"

namespace kinflow {

/// What chance does to pixels.
struct PixelNoise {
  std::uint64_t seed = 0;
  /// [1] int64 on the pixels' device; a number has new noise in each.
  Array round;
  bool mirrors = false;  ///< half of the images, left to right
};

/// @param pixels [n, C, H, W] uint8
PixelSource pixel_source(const Array& pixels, std::int64_t bits,
                         const PixelNoise& noise);

/// Some images as numbers of about [-1/2, 1/2]: (pixel + noise) / 2^bits - 1/2 with
/// noise uniform on [0, 1), that depends on the image's row. [b, C, H, W] float32.
/// @param pixels [n, C, H, W] uint8  @param rows [b] int64
Array dequantize(const Array& pixels, std::int64_t bits, const Array& rows,
                 const PixelNoise& noise);

/// One step of Adamax for parameters [P] by one pass over them.
struct FlatStep {
  double weight_decay = 0;
  std::int64_t decaying = 0;  ///< how many parameters at the beginning decay
};
/// @param rate, factor, sound  [1] double, double and bool on the device: the learning
///     rate, what gradients are multiplied with, and whether the step is taken
void take_flat_step(Adamax& optimizer, Array& values, const Array& gradient,
                    const FlatStep& step, const Array& rate, const Array& factor,
                    const Array& sound);

/// dequantize() and take_flat_step() for arrays on a GPU; std::logic_error where this
/// build has no CUDA kernels.
void dequantize_by_cuda(const Array& pixels, std::int64_t bits, const Array& rows,
                        const PixelNoise& noise, const Array& images);
void adamax_by_cuda(Adamax& optimizer, Array& values, const Array& gradient,
                    const FlatStep& step, const Array& rate, const Array& factor,
                    const Array& sound);

}  // namespace kinflow
