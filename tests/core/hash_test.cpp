// Hashes of numbers tell contents apart.
#include "kinflow/core/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kinflow/core/random.h"

namespace kinflow {
namespace {

std::vector<double> some_numbers(std::size_t count) {
  Random random(3);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = random.normal();
  return numbers;
}

TEST(Hash, EveryBitOfEveryNumberCounts) {
  std::set<std::uint64_t> seen;
  auto numbers = some_numbers(11);
  seen.insert(hash_of(numbers));
  for (double& number : numbers) {
    const double before = number;
    for (int bit = 0; bit < 64; ++bit) {
      number = std::bit_cast<double>(std::bit_cast<std::uint64_t>(before) ^
                                     (std::uint64_t{1} << bit));
      seen.insert(hash_of(numbers));
    }
    number = before;
  }
  EXPECT_EQ(seen.size(), 1u + 11 * 64);
}

TEST(Hash, OrderLengthAndSeedCount) {
  auto numbers = some_numbers(12);
  std::set<std::uint64_t> seen = {hash_of(numbers), hash_of(numbers, 1)};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::swap(numbers[i], numbers[j]);
      seen.insert(hash_of(numbers));
      std::swap(numbers[i], numbers[j]);
    }
  }
  EXPECT_EQ(seen.size(), 2u + 12 * 11 / 2);
  seen.clear();
  for (std::size_t length = 0; length < 40; ++length) {
    seen.insert(hash_of(std::vector<double>(length, 0.0)));
  }
  EXPECT_EQ(seen.size(), 40u);
}

TEST(Hash, ABitFlipsHalfOfTheBitsOnAverage) {
  auto numbers = some_numbers(64);
  const std::uint64_t before = hash_of(numbers);
  double flipped = 0;
  int changes = 0;
  for (double& number : numbers) {
    const double kept = std::exchange(number, std::nextafter(number, 1e300));
    flipped += std::popcount(hash_of(numbers) ^ before);
    number = kept;
    ++changes;
  }
  // The mean of 64 draws of 64 fair bits has a standard deviation of 0.5.
  EXPECT_NEAR(flipped / changes, 32, 2.5);
}

TEST(Hash, NumbersAtAnyAddressHaveTheSame) {
  const auto numbers = some_numbers(11);
  const auto bytes = std::as_bytes(std::span(numbers));
  for (const std::size_t shift : {0, 1, 4}) {
    std::vector<std::byte> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    moved.resize(moved.size() + 7);  // no whole number
    EXPECT_EQ(hash_of(std::span<const std::byte>(moved).subspan(shift), 5),
              hash_of(numbers, 5));
  }
}

TEST(Hash, StaysTheSameFromVersionToVersion) {
  // Files are found by it. The value is that of a second implementation.
  EXPECT_EQ(hash_of(std::vector<double>{1, 2, 3, 4, 5}), 0xaad981d815416692ULL);
}

}  // namespace
}  // namespace kinflow
