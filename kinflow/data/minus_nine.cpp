// Telling a code for missing values from a number.
#include "kinflow/data/minus_nine.h"

#include <cmath>
#include <set>

namespace kinflow {
namespace {

/// Rows of the most frequent value.
std::int64_t largest_tie(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::int64_t largest = 0, run = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    run = i > 0 && values[i] == values[i - 1] ? run + 1 : 1;
    largest = std::max(largest, run);
  }
  return largest;
}

}  // namespace

bool minus_nine_is_plainly_a_value(std::span<const double> column) {
  // One code below -9, or two such as -99 and -98, are found in questionnaires.
  constexpr std::size_t kValuesBelow = 3;
  std::set<double> below;
  bool has_fraction_near = false;
  std::int64_t minus_nines = 0;
  for (const double value : column) {
    if (value == kMinusNine) ++minus_nines;
    if (value < kMinusNine && below.size() < kValuesBelow) below.insert(value);
    has_fraction_near |= value > -10 && value < -8 && value != std::floor(value);
  }
  if (!has_fraction_near && below.size() < kValuesBelow) return false;
  if (minus_nines <= 1) return true;
  std::vector<double> others;
  for (const double value : column) {
    // Many zeros are a matter of their own.
    if (value != kMinusNine && value != 0 && !std::isnan(value)) {
      others.push_back(value);
    }
  }
  return minus_nines <= largest_tie(std::move(others));
}

}  // namespace kinflow
