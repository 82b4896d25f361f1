// The maps of bounded columns, and bounds as text.
#include "kinflow/data/column_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/append_number.h"
#include "kinflow/data/cells.h"

namespace kinflow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double first_above(double low) { return std::nextafter(low, kInfinity); }
double last_below(double high) { return std::nextafter(high, -kInfinity); }

double nearest_inside(const ColumnBounds& bounds, double value) {
  if (bounds.has_low() && value <= bounds.low) return first_above(bounds.low);
  if (bounds.has_high() && value >= bounds.high) return last_below(bounds.high);
  return value;
}

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

double read_bound(std::string_view text, double missing, const std::string& start) {
  if (text.empty()) return missing;
  double value = 0;
  if (read_number(text, value) == CellKind::number) return value;
  throw InputError(
      fmt::format("{}: expected a number as bound, found {}", start, in_quotes(text)));
}

}  // namespace

bool ColumnBounds::are_sound() const {
  if (!(low < high)) return false;
  if (!(has_low() && has_high())) return true;
  return std::isfinite(high - low) && first_above(low) < high;
}

double ColumnBounds::to_line(double value) const {
  const double inside = nearest_inside(*this, value);
  if (has_low() && has_high()) return std::log(inside - low) - std::log(high - inside);
  if (has_low()) return std::log(inside - low);
  if (has_high()) return -std::log(high - inside);
  return value;
}

double ColumnBounds::log_slope(double value) const {
  if (has_low() && value <= low) return -kInfinity;
  if (has_high() && value >= high) return -kInfinity;
  double result = has_low() && has_high() ? std::log(high - low) : 0;
  if (has_low()) result -= std::log(value - low);
  if (has_high()) result -= std::log(high - value);
  return result;
}

double ColumnBounds::from_line(double place) const {
  double value = place;
  if (has_low() && has_high()) {
    // From the bound that is nearer, so that no digit of the distance is lost.
    const double odds = std::exp(-std::abs(place));
    const double distance = (high - low) * (odds / (1 + odds));
    value = place < 0 ? low + distance : high - distance;
  } else if (has_low()) {
    value = low + std::exp(place);
  } else if (has_high()) {
    value = high - std::exp(-place);
  }
  return nearest_inside(*this, value);
}

std::string ColumnBounds::in_words() const {
  if (has_low() && has_high()) {
    return fmt::format("between {} and {}", number_text(low), number_text(high));
  }
  if (has_low()) return "above " + number_text(low);
  return has_high() ? "below " + number_text(high) : "without bounds";
}

std::string ColumnBounds::name_on_line(const std::string& column) const {
  if (has_low() && has_high()) {
    return fmt::format("logit({}, {})", column, in_words());
  }
  if (has_high()) return fmt::format("-log({} - {})", number_text(high), column);
  if (!has_low()) return column;
  return low == 0 ? fmt::format("log({})", column)
                  : fmt::format("log({} - {})", column, number_text(low));
}

BoundedColumn read_bounded_column(const std::string& text, const std::string& place) {
  const auto equal = text.rfind('=');
  const auto colon = text.find(':', equal == text.npos ? 0 : equal);
  if (equal == text.npos || equal == 0 || colon == text.npos) {
    throw InputError(fmt::format(
        "{}: expected COLUMN=LOW:HIGH, of which LOW or HIGH may be left out, found {}",
        place, in_quotes(text)));
  }
  BoundedColumn result{.column = text.substr(0, equal), .bounds = {}};
  const auto start = fmt::format("{}: column {}", place, in_quotes(result.column));
  const std::string_view range = std::string_view(text).substr(equal + 1);
  const auto low = range.substr(0, colon - equal - 1),
             high = range.substr(low.size() + 1);
  if (low.empty() && high.empty()) {
    throw InputError(start +
                     ": expected a lower bound, an upper one or both, found "
                     "neither");
  }
  result.bounds = {.low = read_bound(low, -kInfinity, start),
                   .high = read_bound(high, kInfinity, start)};
  if (!result.bounds.are_sound()) {
    throw InputError(
        fmt::format("{}: expected a lower bound below the upper one, with "
                    "numbers between, found {}",
                    start, in_quotes(range)));
  }
  return result;
}

std::string text_of(const BoundedColumn& bounded) {
  const auto& [low, high] = bounded.bounds;
  return fmt::format("{}={}:{}", bounded.column,
                     bounded.bounds.has_low() ? number_text(low) : "",
                     bounded.bounds.has_high() ? number_text(high) : "");
}

std::vector<ColumnBounds> bounds_for(std::span<const BoundedColumn> bounded,
                                     std::span<const std::string> columns) {
  constexpr const char* kOptions = "--bounds, --positive";
  if (bounded.empty()) return {};
  std::vector<ColumnBounds> result(columns.size());
  for (const auto& [column, bounds] : bounded) {
    const auto found = std::find(columns.begin(), columns.end(), column);
    if (found == columns.end()) {
      throw InputError(fmt::format("{}: expected columns that are modelled, found {}",
                                   kOptions, in_quotes(column)));
    }
    auto& own = result[static_cast<std::size_t>(found - columns.begin())];
    if (own != ColumnBounds{}) {
      throw InputError(fmt::format("{}: expected every column once, found {} twice",
                                   kOptions, in_quotes(column)));
    }
    own = bounds;
  }
  return result;
}

}  // namespace kinflow
