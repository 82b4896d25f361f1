// Relationship matrices from principal components, times and blocks.
#include "kinflow/dependence/relationship_matrices.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// t_i - t_j: [n, n].
at::Tensor time_differences(const at::Tensor& times, double decay_rate) {
  if (times.dim() != 1 || times.size(0) == 0) {
    throw InputError(fmt::format("[time] expected times [n] with n >= 1, received [{}]",
                                 fmt::join(times.sizes(), ", ")));
  }
  const at::Tensor time = times.to(at::kDouble);
  const at::Tensor finite = time.isfinite();
  if (!finite.all().item<bool>()) {
    const auto row = at::nonzero(finite.logical_not())[0][0].item<std::int64_t>();
    throw InputError(fmt::format("[time] expected finite times, received {} in row {}",
                                 time[row].item<double>(), row + 1));
  }
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

at::Tensor block_relationship(const at::Tensor& block_of_row) {
  if (block_of_row.dim() != 1 || block_of_row.scalar_type() != at::kLong ||
      block_of_row.size(0) == 0) {
    throw InputError(fmt::format(
        "[blocks] expected block_of_row [n] int64 with n >= 1, received [{}] {}",
        fmt::join(block_of_row.sizes(), ", "), toString(block_of_row.scalar_type())));
  }
  return (block_of_row.unsqueeze(1) == block_of_row.unsqueeze(0)).to(at::kDouble);
}

}  // namespace kinflow
