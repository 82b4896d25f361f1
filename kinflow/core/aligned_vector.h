// A vector whose numbers start at a cache line, so that no vector register is loaded
// from two of them.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace kinflow {

template <typename Number>
struct CacheLineAllocator {
  using value_type = Number;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <typename Other>
  explicit CacheLineAllocator(const CacheLineAllocator<Other>& /*other*/) {}

  Number* allocate(std::size_t count) {
    return static_cast<Number*>(::operator new(count * sizeof(Number), kAlignment));
  }
  void deallocate(Number* numbers, std::size_t /*count*/) {
    ::operator delete(numbers, kAlignment);
  }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) {
    return true;
  }
};

template <typename Number>
using AlignedVector = std::vector<Number, CacheLineAllocator<Number>>;

}  // namespace kinflow
