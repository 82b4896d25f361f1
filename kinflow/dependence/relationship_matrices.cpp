// Relationship matrices from principal components and times.
#include "kinflow/dependence/relationship_matrices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/decay_rate.h"

namespace kinflow {
namespace {

/// t_i - t_j: [n, n].
Array time_differences(const Array& times, double decay_rate) {
  const Array time = checked_times(times, "time");
  if (!(decay_rate > 0 && std::isfinite(decay_rate))) {
    throw InputError(
        fmt::format("[time] expected a positive decay rate, received {}", decay_rate));
  }
  return time.unsqueeze(1) - time.unsqueeze(0);
}

}  // namespace

Array principal_component_factor(const Array& components) {
  if (components.dim() != 2 || components.size(0) == 0 || components.size(1) < 2) {
    throw InputError(fmt::format(
        "[Relationship] expected principal components [n, k] with n >= 1 and k >= 2, "
        "received [{}]",
        fmt::join(components.sizes(), ", ")));
  }
  const Array rows = components.to(nd::kDouble);
  const Array centred = rows - rows.mean(1, /*keepdim=*/true);
  const Array length = centred.norm(2, 1, /*keepdim=*/true);
  // Rows whose components differ by rounding only, and rows that are not finite.
  const Array sound =
      (length > 1e-12 * rows.norm(2, 1, true)).logical_and(length.isfinite());
  if (!sound.all().item<bool>()) {
    const auto row = nd::nonzero(sound.logical_not())[0][0].item<std::int64_t>();
    throw InputError(fmt::format(
        "[Relationship] expected finite principal components that are not all equal, "
        "received others in row {}",
        row + 1));
  }
  return centred / length;
}

Array gaussian_time_relationship(const Array& times, double decay_rate) {
  return (time_differences(times, decay_rate).square() * -decay_rate).exp();
}

Array markov_time_relationship(const Array& times, double decay_rate) {
  return (time_differences(times, decay_rate).abs() * -decay_rate).exp();
}

}  // namespace kinflow
