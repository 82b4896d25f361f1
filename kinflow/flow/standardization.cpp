// The arithmetic of standardisation.
#include "kinflow/flow/standardization.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace kinflow {

Standardization Standardization::from(const at::Tensor& data) {
  const auto mean = data.mean(0);
  // Scaling by the largest distance first keeps the squares in range.
  const auto largest = (data - mean).abs().amax(0);
  return {.mean = mean, .deviation = ((data - mean) / largest).std(0) * largest};
}

at::Tensor Standardization::apply(const at::Tensor& data) const {
  return (data - mean) / deviation;
}

at::Tensor Standardization::undo(const at::Tensor& standardized) const {
  return standardized * deviation + mean;
}

double Standardization::log_abs_det() const {
  return -deviation.log().sum().item<double>();
}

double spline_bound_for(const at::Tensor& standardized) {
  return std::clamp(1.1 * standardized.abs().max().item<double>(), 4.0, 12.0);
}

}  // namespace kinflow
