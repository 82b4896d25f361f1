// Plain loops on the CPU; a GPU's sums do not depend on threads of the CPU.
#include "kinflow/array/steady_math.h"

#include <algorithm>
#include <cstdint>

#include "kinflow/array/array.h"

namespace kinflow {

Array steady_sum(const Array& numbers) {
  if (!numbers.is_cpu()) return numbers.to(nd::kDouble).sum(-1);
  // Sums of pieces keep the rounding errors of many numbers small.
  constexpr std::int64_t kPiece = 1024;
  const auto all = numbers.to(nd::kDouble).contiguous();
  auto result = nd::zeros(all.sizes().slice(0, all.dim() - 1), nd::kDouble);
  const std::int64_t length = all.size(-1);
  const double* in = all.data_ptr<double>();
  double* out = result.data_ptr<double>();
  for (std::int64_t i = 0; i < result.numel(); ++i, in += length) {
    for (std::int64_t start = 0; start < length; start += kPiece) {
      double sum = 0;
      const auto end = std::min(length, start + kPiece);
      for (std::int64_t j = start; j < end; ++j) sum += in[j];
      out[i] += sum;
    }
  }
  return result;
}

Array steady_map(const Array& numbers, double (*function)(double)) {
  const auto all = numbers.to(nd::kDouble).contiguous();
  auto result = nd::empty_like(all);
  const double* in = all.data_ptr<double>();
  std::transform(in, in + all.numel(), result.data_ptr<double>(), function);
  return result;
}

}  // namespace kinflow
