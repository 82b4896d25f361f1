// A fast hash of numbers, to know large content again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kinflow {

/// 64 bits that depend on every bit, place and the number of the values; a changed
/// value always changes them. Works on whole numbers at about the speed of memory, so
/// it is fit for matrices; it is no defence against someone who wants two contents
/// with one hash.
/// @param seed  hashes with different seeds have nothing to do with each other
std::uint64_t hash_of(std::span<const double> values, std::uint64_t seed = 0);
/// The same of numbers that stand at any address, of eight bytes each; bytes beyond the
/// last whole number do not count.
std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// FNV-1a of 64 bits over bytes that come in parts, as records of runs name it.
class ByteHash {
 public:
  void add(std::string_view bytes);
  /// "fnv1a64:0123456789abcdef".
  std::string text() const;

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace kinflow
