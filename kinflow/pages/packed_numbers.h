// Many numbers in few characters, as the page's script unpacks them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace kinflow {

/// {"low", "high", "bytes"}: 16 bits for each number, its place between the smallest
/// and the largest finite one; the largest code stands for a number that is not finite.
nlohmann::json packed(std::span<const double> values);

/// What packed() made, to within half a step of its range.
std::vector<double> unpacked(const nlohmann::json& packed);
/// Bytes of Base64.
std::vector<std::uint8_t> unpacked_bytes(const nlohmann::json& text);

/// Base64 of bytes.
nlohmann::json packed_bytes(std::span<const std::uint8_t> values);

/// A number, or null where it is not finite.
nlohmann::json finite_or_null(double value);

/// A number with so many significant digits, for numbers that are read by people.
nlohmann::json rounded(double value, int digits = 5);

}  // namespace kinflow
