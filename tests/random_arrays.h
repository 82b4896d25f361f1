// Arrays of random numbers for tests, from one generator that is seeded first.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/random.h"

namespace kinflow {

inline Random& generator_of_tests() {
  thread_local Random random(0);
  return random;
}

inline void seed_numbers(std::uint64_t seed) { generator_of_tests() = Random(seed); }

/// Standard normal numbers.
inline Array normal_array(const nd::IntArrayRef& sizes,
                          nd::ScalarType type = nd::kFloat) {
  return normal_numbers(sizes, generator_of_tests()).to(type);
}
inline Array normal_array_like(const Array& array) {
  return normal_array(array.sizes(), array.scalar_type());
}

/// Numbers in [0, 1).
inline Array uniform_array(const nd::IntArrayRef& sizes,
                           nd::ScalarType type = nd::kFloat) {
  const auto numbers = nd::empty(sizes, nd::kDouble);
  auto* number = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    number[i] = generator_of_tests().uniform();
  }
  return numbers.to(type);
}

/// The same of a seed's own.
inline Array normal(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  Random random(seed);
  return normal_numbers(shape, random);
}
inline Array uniform(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  Random random(seed);
  const auto numbers = nd::empty(shape, nd::kDouble);
  auto* number = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) number[i] = random.uniform();
  return numbers.to(nd::kFloat);
}

}  // namespace kinflow
