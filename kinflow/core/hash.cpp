// Multiplication and shifts on four words at a time, and byte by byte.
#include "kinflow/core/hash.h"

#include <fmt/format.h>

#include <cstring>

namespace kinflow {
namespace {

// Four chains of multiplications run beside each other; one would wait for itself.
constexpr std::size_t kLanes = 4;
// The first 64 bits of the fraction of the square root of 3; odd.
constexpr std::uint64_t kFactor = 0xbb67ae8584caa73bULL;

/// Carries every bit to every other; one to one.
std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 32)) * kFactor;
  word = (word ^ (word >> 29)) * kFactor;
  return word ^ (word >> 32);
}

/// One to one in the word and in the lane: no change of a single word is lost.
std::uint64_t absorb(std::uint64_t lane, const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  word = (lane ^ word) * kFactor;
  return word ^ (word >> 31);
}

}  // namespace

std::uint64_t hash_of(std::span<const double> values, std::uint64_t seed) {
  return hash_of(std::as_bytes(values), seed);
}

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::size_t words = bytes.size() / sizeof(std::uint64_t);
  const auto word = [&](std::size_t i) {
    return bytes.data() + i * sizeof(std::uint64_t);
  };
  std::uint64_t lanes[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = mix(seed + k + 1);
  const std::size_t whole = words - words % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = absorb(lanes[k], word(i + k));
  }
  for (std::size_t i = whole; i < words; ++i) {
    lanes[i - whole] = absorb(lanes[i - whole], word(i));
  }
  std::uint64_t result = mix(words);
  for (const std::uint64_t lane : lanes) result = mix(result ^ lane);
  return result;
}

void ByteHash::add(std::string_view bytes) {
  for (const char byte : bytes) {
    hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  }
}

std::string ByteHash::text() const { return fmt::format("fnv1a64:{:016x}", hash_); }

}  // namespace kinflow
