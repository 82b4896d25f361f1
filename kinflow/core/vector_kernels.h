// What CPU kernels have in common: vectors of numbers by the compiler's vector
// extensions, loops over blocks, and the names of tables. Compiled once for each
// instruction set, so everything here has internal linkage.
#pragma once

#include <cstdint>
#include <cstring>

/// Bytes of a vector; the build sets it with the instruction set.
#ifndef KINFLOW_VECTOR_BYTES
#define KINFLOW_VECTOR_BYTES 16
#endif

#define KINFLOW_JOIN(a, b) a##b
/// The prefix followed by the name of the instruction set.
#define KINFLOW_TABLE(prefix, set) KINFLOW_JOIN(prefix, set)

namespace kinflow {
namespace {

template <typename Number>
struct VectorOf {
  typedef Number Type __attribute__((vector_size(KINFLOW_VECTOR_BYTES)));
};
template <typename Real>
using Vec = typename VectorOf<Real>::Type;

/// Numbers in a vector.
template <typename Real>
inline constexpr int kLanes = KINFLOW_VECTOR_BYTES / static_cast<int>(sizeof(Real));

template <typename Real>
inline Vec<Real> load(const Real* from) {
  Vec<Real> vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <typename Real>
inline void store(Real* to, const Vec<Real>& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

/// Calls function.template operator()<count>() for a count of 1 .. Most that is known
/// only when the program runs.
template <int Most, typename Function>
inline void with_count(int count, const Function& function) {
  if (count == Most) {
    function.template operator()<Most>();
  } else if constexpr (Most > 1) {
    with_count<Most - 1>(count, function);
  }
}

/// Calls function.template operator()<count>(first) for consecutive blocks of at most
/// Most out of `total`.
template <int Most, typename Function>
inline void for_blocks(std::int64_t total, const Function& function) {
  std::int64_t first = 0;
  for (; first + Most <= total; first += Most) {
    function.template operator()<Most>(first);
  }
  if (first < total) {
    with_count<Most>(static_cast<int>(total - first),
                     [&]<int Count>() { function.template operator()<Count>(first); });
  }
}

}  // namespace
}  // namespace kinflow
