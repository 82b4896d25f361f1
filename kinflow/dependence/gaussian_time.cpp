// Decay in time like a normal density, with its rate learned.
#include "kinflow/dependence/gaussian_time.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

at::Tensor checked(const at::Tensor& times, const GaussianTimeOptions& options) {
  const at::Tensor result = checked_times(times, "GaussianTime");
  if (result.size(0) > options.largest_rows) {
    throw InputError(fmt::format(
        "[GaussianTime] expected at most {} rows, received {}; exponential decay "
        "(MarkovTime) has no such limit",
        options.largest_rows, result.size(0)));
  }
  return result;
}

/// The parameters, [R] each, to be multiplied with matrices [R, 1, n, n].
at::Tensor for_matrices(const at::Tensor& parameters, std::int64_t which) {
  return parameters.select(1, which).view({-1, 1, 1, 1});
}

}  // namespace

GaussianTime::GaussianTime(const at::Tensor& times, GaussianTimeOptions options)
    : DecayLaw(one_component(checked(times, options).size(0)), times.device()),
      times_(times.detach().to(at::kDouble)),
      squared_distances_((times_.unsqueeze(1) - times_.unsqueeze(0)).square()) {}

at::Tensor GaussianTime::kernels(const at::Tensor& parameters) const {
  return (-for_matrices(parameters, 1) * squared_distances_).exp_();
}

at::Tensor GaussianTime::covariances(std::size_t /*group*/,
                                     const at::Tensor& parameters) const {
  const at::Tensor own_share = for_matrices(parameters, 0);
  at::Tensor result = kernels(parameters).mul_(1 - own_share);
  result.diagonal(0, 2, 3).add_(own_share.squeeze(3));
  return result;
}

at::Tensor GaussianTime::slopes(std::size_t /*group*/, const at::Tensor& parameters,
                                const at::Tensor& /*components*/,
                                const at::Tensor& x) const {
  const at::Tensor weighted = kernels(parameters).mul_(x);
  const at::Tensor by_share = x.diagonal(0, 2, 3).sum({1, 2}) - weighted.sum({1, 2, 3});
  const at::Tensor by_rate = (parameters.select(1, 0) - 1) *
                             at::mv(weighted.flatten(1), squared_distances_.flatten());
  return at::stack({by_share, by_rate}, 1);
}

at::Tensor GaussianTime::default_parameters() const {
  const double gap = mean_gap(times_);
  return at::tensor({0.5, 1 / (gap * gap)}, at::kDouble);
}

}  // namespace kinflow
