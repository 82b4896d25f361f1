// Quantised numbers as base64.
#include "kinflow/pages/packed_numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "kinflow/pages/page.h"

namespace kinflow {

nlohmann::json packed(std::span<const double> values) {
  constexpr int kMissing = 65535;
  constexpr double kSteps = kMissing - 1;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::fmin(low, value);
    high = std::fmax(high, value);
  }
  if (!(low <= high)) low = high = 0;
  // Halves, so that the width of a range of huge numbers does not overflow.
  const double half_width = high / 2 - low / 2;
  std::string bytes;
  bytes.reserve(2 * values.size());
  for (const double value : values) {
    int code = kMissing;
    if (std::isfinite(value)) {
      const double share = half_width > 0 ? (value / 2 - low / 2) / half_width : 0;
      code = static_cast<int>(std::lround(share * kSteps));
    }
    bytes += static_cast<char>(code & 255);
    bytes += static_cast<char>(code >> 8);
  }
  return {{"low", low}, {"high", high}, {"bytes", base64(bytes)}};
}

std::vector<std::uint8_t> unpacked_bytes(const nlohmann::json& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text.get<std::string>()) {
    const auto digit = kDigits.find(c);
    if (digit == std::string::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> held & 255));
  }
  return bytes;
}

std::vector<double> unpacked(const nlohmann::json& packed) {
  const double low = packed["low"], high = packed["high"];
  const auto bytes = unpacked_bytes(packed["bytes"]);
  std::vector<double> values;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const int code = bytes[i] + 256 * bytes[i + 1];
    values.push_back(code == 65535 ? std::nan("") : low + (high - low) * code / 65534);
  }
  return values;
}

nlohmann::json packed_bytes(std::span<const std::uint8_t> values) {
  return base64({reinterpret_cast<const char*>(values.data()), values.size()});
}

nlohmann::json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json rounded(double value, int digits) {
  if (!std::isfinite(value)) return {};
  return std::stod(fmt::format("{:.{}g}", value, digits));
}

}  // namespace kinflow
