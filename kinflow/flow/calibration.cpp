// Moments of latents, and latents moved by them.
#include "kinflow/flow/calibration.h"

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/array/steady_math.h"

namespace kinflow {
namespace {

// Latents that coincide in all rows would have no density.
constexpr double kSmallestVariance = 1e-12;

Array logarithms(const Array& numbers) {
  if (!numbers.is_cpu()) return numbers.log();
  return steady_map(numbers, [](double x) { return std::log(x); });
}

}  // namespace

LatentResult Calibration::apply(const LatentResult& result) const {
  return {.latents = (result.latents.to(nd::kDouble) - mean.unsqueeze(1)) /
                     deviation.unsqueeze(1),
          .log_abs_det = result.log_abs_det.to(nd::kDouble) -
                         steady_sum(logarithms(deviation)).unsqueeze(1)};
}

Array Calibration::undo(const Array& calibrated) const {
  return calibrated.to(nd::kDouble) * deviation.unsqueeze(1) + mean.unsqueeze(1);
}

Calibration Calibration::of_replicas(const std::vector<std::int64_t>& replicas) const {
  const auto which = nd::tensor(replicas, nd::kLong);
  return {.mean = mean.cpu().index_select(0, which),
          .deviation = deviation.cpu().index_select(0, which)};
}

// The second moments are taken around the rows' own mean, since a mean that is large
// beside the deviation would leave no digits of it.
Calibration calibrate(const Array& latents, const Array& training_information) {
  const auto columns = latents.to(nd::kDouble).transpose(1, 2).contiguous();
  const auto rows = static_cast<double>(latents.size(1));
  const auto information = training_information.unsqueeze(1);
  const auto total = information + rows;
  const auto own_mean = steady_sum(columns) / rows;
  const auto squares = steady_sum((columns - own_mean.unsqueeze(2)).square());
  const auto variance =
      (squares + information + own_mean.square() * (information * rows / total)) /
      total;
  return {.mean = own_mean * (total.reciprocal() * rows),
          .deviation = variance.clamp_min(kSmallestVariance).sqrt()};
}

}  // namespace kinflow
