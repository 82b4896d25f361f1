// Copies and draws.
#include "kinflow/core/tensor_numbers.h"

#include <ATen/ATen.h>

namespace kinflow {

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const auto values = tensor.to(at::kCPU, at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

at::Tensor normal_numbers(at::IntArrayRef shape, Random& random) {
  auto numbers = at::empty(shape, at::kDouble);
  auto* number = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) number[i] = random.normal();
  return numbers;
}

}  // namespace kinflow
