// Random numbers that depend on a seed and a stream only: the same on every machine and
// device, with no state to save in a checkpoint.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// What random numbers are for: each purpose has its own streams, so that two uses of
/// one seed never share numbers.
enum class Purpose : std::uint64_t {
  simulation,
  split,
  weights,
  columns,
  row_order,
  draws,
  probes,
  replicas,
  cohort,
  images,
  clusters,
  subsets,
  folds
};

/// The number of a stream, for Random.
constexpr std::uint64_t stream(Purpose purpose, std::int64_t index = 0) {
  return (static_cast<std::uint64_t>(purpose) << 48) +
         static_cast<std::uint64_t>(index);
}

/// A stream of random numbers (xoshiro256++, seeded by splitmix64). Streams with
/// different (seed, stream) pairs are independent for all practical purposes.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint64_t next();
  /// In [0, 1), 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Standard normal (polar method).
  double normal();
  /// In 0 .. bound - 1, unbiased; bound > 0.
  std::int64_t below(std::int64_t bound);
  /// 0 .. n - 1 in random order.
  std::vector<std::int64_t> permutation(std::int64_t n);

 private:
  std::uint64_t state_[4];
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace kinflow
