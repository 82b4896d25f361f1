// Decay in time like a normal density, with its rate learned.
#include "kinflow/dependence/gaussian_time.h"

#include <fmt/format.h>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

Array checked(const Array& times, const GaussianTimeOptions& options) {
  const Array result = checked_times(times, "GaussianTime");
  if (result.size(0) > options.largest_rows) {
    throw InputError(fmt::format(
        "[GaussianTime] expected at most {} rows, received {}; exponential decay "
        "(MarkovTime) has no such limit",
        options.largest_rows, result.size(0)));
  }
  return result;
}

/// The parameters, [R] each, to be multiplied with matrices [R, 1, n, n].
Array for_matrices(const Array& parameters, std::int64_t which) {
  return parameters.select(1, which).view({-1, 1, 1, 1});
}

}  // namespace

GaussianTime::GaussianTime(const Array& times, GaussianTimeOptions options)
    : DecayLaw(one_component(checked(times, options).size(0)), times.device()),
      times_(times.detach().to(nd::kDouble)),
      squared_distances_((times_.unsqueeze(1) - times_.unsqueeze(0)).square()) {}

Array GaussianTime::kernels(const Array& parameters) const {
  return (-for_matrices(parameters, 1) * squared_distances_).exp_();
}

Array GaussianTime::covariances(std::size_t /*group*/, const Array& parameters) const {
  const Array own_share = for_matrices(parameters, 0);
  Array result = kernels(parameters).mul_(1 - own_share);
  result.diagonal(0, 2, 3).add_(own_share.squeeze(3));
  return result;
}

Array GaussianTime::slopes(std::size_t /*group*/, const Array& parameters,
                           const Array& /*components*/, const Array& x) const {
  const Array weighted = kernels(parameters).mul_(x);
  const Array by_share = x.diagonal(0, 2, 3).sum({1, 2}) - weighted.sum({1, 2, 3});
  const Array by_rate = (parameters.select(1, 0) - 1) *
                        nd::mv(weighted.flatten(1), squared_distances_.flatten());
  return nd::stack({by_share, by_rate}, 1);
}

Array GaussianTime::default_parameters() const {
  const double gap = mean_gap(times_);
  return nd::tensor({0.5, 1 / (gap * gap)}, nd::kDouble);
}

}  // namespace kinflow
