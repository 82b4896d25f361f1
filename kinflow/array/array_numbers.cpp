// Copies and draws.
#include "kinflow/array/array_numbers.h"

#include "kinflow/array/array.h"

namespace kinflow {

std::vector<double> numbers_of(const Array& tensor) {
  const auto values = tensor.to(nd::kCPU, nd::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

Array normal_numbers(nd::IntArrayRef shape, Random& random) {
  auto numbers = nd::empty(shape, nd::kDouble);
  auto* number = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) number[i] = random.normal();
  return numbers;
}

}  // namespace kinflow
