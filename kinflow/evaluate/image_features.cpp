// Checks of images, and their way through a feature map in batches.
#include "kinflow/evaluate/image_features.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

void check_shape(const at::Tensor& images) {
  if (images.dim() == 4 && images.size(0) > 0 &&
      (images.size(1) == 1 || images.size(1) == 3) && images.size(2) > 0 &&
      images.size(3) > 0 &&
      (images.scalar_type() == at::kByte || images.is_floating_point())) {
    return;
  }
  std::ostringstream found;
  found << images.sizes() << ' ' << images.dtype();
  throw InputError(fmt::format(
      "[image features] expected images of shape [n, 1 or 3, H, W], uint8 or floating, "
      "received {}",
      found.str()));
}

// A batch of images as [b, 3, H, W] float32 from 0 to 1.
at::Tensor prepare(const at::Tensor& images, std::int64_t first, at::Device device) {
  const bool is_bytes = images.scalar_type() == at::kByte;
  auto batch = images.detach().to(device, at::kFloat);
  if (is_bytes) {
    batch = batch / 255;
  } else {
    const auto is_good =
        (batch >= 0).logical_and(batch <= 1).flatten(1).all(1).to(at::kCPU);
    if (!is_good.all().item<bool>()) {
      const auto bad =
          is_good.logical_not().to(at::kLong).argmax().item<std::int64_t>();
      throw InputError(fmt::format(
          "[image features] expected pixels from 0 to 1, received image {} with others "
          "(it has values from {:g} to {:g})",
          first + bad + 1, batch[bad].min().item<double>(),
          batch[bad].max().item<double>()));
    }
  }
  return batch.expand({-1, 3, -1, -1}).contiguous();
}

}  // namespace

at::Tensor ImageFeatures::of(const at::Tensor& images) const {
  check_shape(images);
  const c10::NoGradGuard no_grad;
  const at::NoTF32Guard full_precision;
  std::vector<at::Tensor> features;
  for (std::int64_t first = 0; first < images.size(0); first += batch_) {
    const auto count = std::min(batch_, images.size(0) - first);
    features.push_back(
        of_batch(prepare(images.narrow(0, first, count), first, device_)));
  }
  return at::cat(features);
}

}  // namespace kinflow
