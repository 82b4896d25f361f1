// Numbers as decimals in one form.
#include "kinflow/data/label_key.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace kinflow {
namespace {

// A longer run of digits is written with an exponent.
constexpr std::size_t kLongestPlain = 40;
constexpr std::size_t kLongestExponent = 6;  // digits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the digits at the front off a text.
std::string_view take_all_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const auto digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

bool has_leading_zero(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

/// The exponent that the rest of a number says; nothing where it is none.
std::optional<std::int64_t> exponent_of(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool has_sign = !text.empty() && (text.front() == '+' || text.front() == '-');
  const bool is_negative = has_sign && text.front() == '-';
  if (has_sign) text.remove_prefix(1);
  const auto digits = take_all_digits(text);
  const bool is_sound = text.empty() && !digits.empty() &&
                        digits.size() <= kLongestExponent &&
                        (has_sign || !has_leading_zero(digits));
  if (!is_sound) return std::nullopt;
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return is_negative ? -value : value;
}

/// The one form of a number; nothing where the label is none.
std::optional<std::string> as_decimal(std::string_view label) {
  const bool is_negative = label.front() == '-';
  if (is_negative || label.front() == '+') label.remove_prefix(1);
  const auto whole = take_all_digits(label);
  std::string_view fraction;
  if (!label.empty() && label.front() == '.') {
    label.remove_prefix(1);
    fraction = take_all_digits(label);
  }
  const auto said = exponent_of(label);
  if (!said || has_leading_zero(whole) || (whole.empty() && fraction.empty())) {
    return std::nullopt;
  }
  auto exponent = *said - static_cast<std::int64_t>(fraction.size());
  std::string digits(whole);
  digits += fraction;
  digits.erase(0, digits.find_first_not_of('0'));
  const auto last = digits.find_last_not_of('0');
  if (last == std::string::npos) return "0";
  exponent += static_cast<std::int64_t>(digits.size() - 1 - last);
  digits.resize(last + 1);
  if (exponent >= 0 &&
      digits.size() + static_cast<std::size_t>(exponent) <= kLongestPlain) {
    digits.append(static_cast<std::size_t>(exponent), '0');
  } else {
    digits += "e" + std::to_string(exponent);
  }
  return (is_negative ? "-" : "") + digits;
}

}  // namespace

std::string label_key(std::string_view label) {
  if (label.empty()) return {};
  const char first = label.front();
  if (!is_digit(first) && first != '-' && first != '+' && first != '.') {
    return std::string(label);
  }
  return as_decimal(label).value_or(std::string(label));
}

}  // namespace kinflow
