// Pixels and parameters on a CPU; on a GPU the kernels of the backend.
#include "kinflow/engine/images/image_kernels.h"

#include <algorithm>

#include "kinflow/array/array.h"
#include "kinflow/engine/images/adamax_number.h"

namespace kinflow {
namespace {

// Numbers that a thread takes at least.
constexpr std::int64_t kGrain = 32768;

}  // namespace

PixelSource pixel_source(const Array& pixels, std::int64_t bits,
                         const PixelNoise& noise) {
  return {.pixels = pixels.data_ptr<std::uint8_t>(),
          .numbers = pixels[0].numel(),
          .width = pixels.size(3),
          .scale = 1.0F / static_cast<float>(std::int64_t{1} << bits),
          .seed = noise.seed,
          .mirrors = noise.mirrors};
}

Array dequantize(const Array& pixels, std::int64_t bits, const Array& rows,
                 const PixelNoise& noise) {
  auto shape = pixels.sizes().vec();
  shape[0] = rows.size(0);
  const auto images = nd::empty(shape, pixels.options().dtype(nd::kFloat));
  if (pixels.is_cuda()) {
    dequantize_by_cuda(pixels, bits, rows, noise, images);
    return images;
  }
  const auto from = pixel_source(pixels, bits, noise);
  const auto round = static_cast<std::uint64_t>(noise.round.item<std::int64_t>());
  const auto* const row_of = rows.data_ptr<std::int64_t>();
  nd::parallel_for(0, rows.size(0), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) {
      const std::int64_t row = row_of[image];
      const bool mirrored = is_mirrored(from, round, row);
      float* const result = images.data_ptr<float>() + image * from.numbers;
      for (std::int64_t i = 0; i < from.numbers; ++i) {
        result[i] = dequantized(from, round, row, i, mirrored);
      }
    }
  });
  return images;
}

void take_flat_step(Adamax& optimizer, Array& values, const Array& gradient,
                    const FlatStep& step, const Array& rate, const Array& factor,
                    const Array& sound) {
  if (values.is_cuda()) {
    adamax_by_cuda(optimizer, values, gradient, step, rate, factor, sound);
    return;
  }
  if (!sound.item<bool>()) return;
  const std::int64_t taken = (optimizer.steps += 1).item<std::int64_t>();
  const auto correct =
      static_cast<float>(rate.item<double>() / Adamax::correction(taken));
  const auto scale = static_cast<float>(factor.item<double>());
  const auto decay = static_cast<float>(step.weight_decay);
  auto* const value = values.data_ptr<float>();
  auto* const moment = optimizer.first_moment.data_ptr<float>();
  auto* const norm = optimizer.infinity_norm.data_ptr<float>();
  const auto* const slope = gradient.data_ptr<float>();
  nd::parallel_for(
      0, values.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t decaying = std::clamp(step.decaying, begin, end);
        for (std::int64_t i = begin; i < decaying; ++i) {
          move({value[i], moment[i], norm[i]}, slope[i] * scale + decay * value[i],
               correct);
        }
        for (std::int64_t i = decaying; i < end; ++i) {
          move({value[i], moment[i], norm[i]}, slope[i] * scale, correct);
        }
      });
}

}  // namespace kinflow
