// xoshiro256++ and the distributions drawn from it.
#include "kinflow/core/random.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "kinflow/core/counter_random.h"

namespace kinflow {

Random::Random(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t mixed = seed;
  std::uint64_t state = splitmix64(mixed) ^ (stream * 0xd1342543de82ef95ULL + 1);
  for (auto& word : state_) word = splitmix64(state);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  double a, b, square;
  do {
    a = uniform(-1, 1);
    b = uniform(-1, 1);
    square = a * a + b * b;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_normal_ = b * factor;
  has_spare_normal_ = true;
  return a * factor;
}

std::int64_t Random::below(std::int64_t bound) {
  const auto range = static_cast<std::uint64_t>(bound);
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  std::uint64_t value;
  do {
    value = next();
  } while (value >= limit);
  return static_cast<std::int64_t>(value % range);
}

std::vector<std::int64_t> Random::permutation(std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(below(i + 1))]);
  }
  return order;
}

}  // namespace kinflow
