// Numbers and missing values.
#include "kinflow/data/cells.h"

#include <charconv>
#include <cmath>

namespace kinflow {

bool is_missing_cell(std::string_view text) {
  const auto is = [&](std::size_t i, char lower) { return (text[i] | 0x20) == lower; };
  return text.empty() || (text.size() == 2 && is(0, 'n') && is(1, 'a')) ||
         (text.size() == 3 && is(0, 'n') && is(1, 'a') && is(2, 'n'));
}

CellKind kind_of(double value) {
  return std::isnan(value)   ? CellKind::missing
         : std::isinf(value) ? CellKind::infinite
                             : CellKind::number;
}

CellKind read_number(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop == end && error == std::errc()) return kind_of(value);
  if (stop == end && error == std::errc::result_out_of_range) {
    // Too small for float64 is 0, too large is infinite.
    long double wide = 0;
    if (std::from_chars(text.data(), end, wide).ec != std::errc()) {
      return CellKind::infinite;
    }
    value = static_cast<double>(wide);
    return kind_of(value);
  }
  return is_missing_cell(text) ? CellKind::missing : CellKind::text;
}

}  // namespace kinflow
