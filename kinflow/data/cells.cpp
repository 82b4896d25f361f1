// Numbers and missing values.
#include "kinflow/data/cells.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>

namespace kinflow {
namespace {

/// Takes `width` digits off the front of a text.
std::optional<int> take_digits(std::string_view& text, std::size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, width)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  text.remove_prefix(width);
  return value;
}

/// Takes one character off the front of a text where it is `wanted`.
bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

/// The part of a day at 09:30 or 09:30:15.5.
std::optional<double> read_time_of_day(std::string_view text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  double seconds = 0;
  if (take(text, ':')) {
    const bool is_plain = text.find_first_not_of("0123456789.") == text.npos;
    if (!is_plain || read_number(text, seconds) != CellKind::number || seconds >= 60) {
      return std::nullopt;
    }
    text = {};
  }
  if (!text.empty()) return std::nullopt;
  return (*hour * 3600 + *minute * 60 + seconds) / 86400;
}

}  // namespace

bool is_missing_cell(std::string_view text) {
  constexpr std::string_view kInAnyCase[] = {"na", "n/a", "#n/a", "nan", "null"};
  constexpr std::size_t kLongest = 4;
  if (text.empty() || text == "." || text == "None") return true;
  if (text.size() > kLongest) return false;
  const auto is_same = [](char c, char lower) {
    return c == lower || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == lower);
  };
  return std::any_of(std::begin(kInAnyCase), std::end(kInAnyCase), [&](auto token) {
    return std::equal(text.begin(), text.end(), token.begin(), token.end(), is_same);
  });
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

std::optional<double> read_date(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days =
      static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  if (text.empty()) return days;
  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  if (!text.empty() && text.back() == 'Z') text.remove_suffix(1);
  const auto time = read_time_of_day(text);
  if (!time) return std::nullopt;
  return days + *time;
}

bool is_date_without_hyphens(double number) {
  constexpr double kEarliest = 19000101, kLatest = 21001231;
  if (!(number >= kEarliest && number <= kLatest) || number != std::floor(number)) {
    return false;
  }
  const auto digits = static_cast<unsigned>(number);
  return std::chrono::year_month_day(
             std::chrono::year(static_cast<int>(digits / 10000)),
             std::chrono::month(digits / 100 % 100), std::chrono::day(digits % 100))
      .ok();
}

bool is_month_without_hyphen(double number) {
  constexpr double kEarliest = 190001, kLatest = 210012, kMonths = 12;
  const double month = std::fmod(number, 100);
  return number >= kEarliest && number <= kLatest && number == std::floor(number) &&
         month >= 1 && month <= kMonths;
}

}  // namespace kinflow
