// Moments of latents, and latents moved by them.
#include "kinflow/flow/calibration.h"

#include <ATen/ATen.h>

#include "kinflow/core/steady_math.h"

namespace kinflow {
namespace {

// Latents that coincide in all rows would have no density.
constexpr double kSmallestVariance = 1e-12;

}  // namespace

LatentResult Calibration::apply(const LatentResult& result) const {
  return {
      .latents =
          (result.latents.to(at::kDouble) - mean.unsqueeze(1)) / deviation.unsqueeze(1),
      .log_abs_det = result.log_abs_det.to(at::kDouble) - deviation.log().sum(1, true)};
}

at::Tensor Calibration::undo(const at::Tensor& calibrated) const {
  return calibrated.to(at::kDouble) * deviation.unsqueeze(1) + mean.unsqueeze(1);
}

Calibration Calibration::of_replicas(const std::vector<std::int64_t>& replicas) const {
  const auto which = at::tensor(replicas, at::kLong);
  return {.mean = mean.cpu().index_select(0, which),
          .deviation = deviation.cpu().index_select(0, which)};
}

Calibration calibrate(const at::Tensor& latents, double training_information) {
  const auto columns = latents.to(at::kDouble).transpose(1, 2).contiguous();
  const auto total = static_cast<double>(latents.size(1)) + training_information;
  const auto mean = steady_sum(columns) / total;
  const auto square = (steady_sum(columns.square()) + training_information) / total;
  return {.mean = mean,
          .deviation = (square - mean.square()).clamp_min(kSmallestVariance).sqrt()};
}

}  // namespace kinflow
