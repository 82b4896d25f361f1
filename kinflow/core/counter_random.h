// Random numbers by their place instead of a stream: the same on a CPU and on a GPU, in
// any order.
#pragma once

#include <cstdint>

#include "kinflow/core/everywhere.h"

namespace kinflow {

/// The next number of the generator splitmix64.
KINFLOW_EVERYWHERE constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t value = (state += 0x9e3779b97f4a7c15);
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// A bijective hash of 64 bits.
KINFLOW_EVERYWHERE constexpr std::uint64_t scrambled(std::uint64_t value) {
  return splitmix64(value);
}

/// A number in [0, 1), with 24 random bits, for a seed, a round and a place in it.
KINFLOW_EVERYWHERE constexpr float counter_uniform(std::uint64_t seed,
                                                   std::uint64_t round,
                                                   std::uint64_t place) {
  const std::uint64_t bits = scrambled(scrambled(scrambled(seed) ^ round) ^ place);
  return static_cast<float>(bits >> 40) * 0x1p-24F;
}

}  // namespace kinflow
