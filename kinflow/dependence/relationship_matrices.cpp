// Relationship matrices from principal components and times.
#include "kinflow/dependence/relationship_matrices.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>

#include "kinflow/core/error.h"
#include "kinflow/dependence/decay_rate.h"

namespace kinflow {
namespace {

/// t_i - t_j: [n, n].
at::Tensor time_differences(const at::Tensor& times, double decay_rate) {
  const at::Tensor time = checked_times(times, "time");
  if (!(decay_rate > 0 && std::isfinite(decay_rate))) {
    throw InputError(
        fmt::format("[time] expected a positive decay rate, received {}", decay_rate));
  }
  return time.unsqueeze(1) - time.unsqueeze(0);
}

}  // namespace

at::Tensor principal_component_factor(const at::Tensor& components) {
  if (components.dim() != 2 || components.size(0) == 0 || components.size(1) < 2) {
    throw InputError(fmt::format(
        "[Relationship] expected principal components [n, k] with n >= 1 and k >= 2, "
        "received [{}]",
        fmt::join(components.sizes(), ", ")));
  }
  const at::Tensor rows = components.to(at::kDouble);
  const at::Tensor centred = rows - rows.mean(1, /*keepdim=*/true);
  const at::Tensor length = centred.norm(2, 1, /*keepdim=*/true);
  // Rows whose components differ by rounding only, and rows that are not finite.
  const at::Tensor sound =
      (length > 1e-12 * rows.norm(2, 1, true)).logical_and(length.isfinite());
  if (!sound.all().item<bool>()) {
    const auto row = at::nonzero(sound.logical_not())[0][0].item<std::int64_t>();
    throw InputError(fmt::format(
        "[Relationship] expected finite principal components that are not all equal, "
        "received others in row {}",
        row + 1));
  }
  return centred / length;
}

at::Tensor gaussian_time_relationship(const at::Tensor& times, double decay_rate) {
  return (time_differences(times, decay_rate).square() * -decay_rate).exp();
}

at::Tensor markov_time_relationship(const at::Tensor& times, double decay_rate) {
  return (time_differences(times, decay_rate).abs() * -decay_rate).exp();
}

}  // namespace kinflow
