// What -9 stands for in a column of a table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kinflow {

inline constexpr double kMinusNine = -9;

/// What -9 stands for. Messages name the option --minus-nine, with these values.
enum class MinusNine {
  careful,  ///< what the column and the verb leave no doubt about, else an InputError
  missing,
  value
};

/// The names of the values, in the order of their declaration.
inline const std::vector<std::pair<std::string, MinusNine>>& minus_nine_names() {
  static const std::vector<std::pair<std::string, MinusNine>> names = {
      {"careful", MinusNine::careful},
      {"missing", MinusNine::missing},
      {"value", MinusNine::value}};
  return names;
}

/// What -9 stands for in each column of a table.
struct MinusNineRule {
  MinusNine meaning = MinusNine::careful;
  /// With MinusNine::careful: columns in which it is a value.
  std::vector<std::string> value_columns = {};
  /// With MinusNine::careful: whether the content of other columns may decide. Not for
  /// a part of a table, and not where another table has decided.
  bool content_decides = true;

  MinusNine meaning_in(const std::string& column) const {
    const bool is_listed = std::find(value_columns.begin(), value_columns.end(),
                                     column) != value_columns.end();
    return meaning == MinusNine::careful && is_listed ? MinusNine::value : meaning;
  }
};

/// True where -9 is plainly one of the numbers of a column, or would be: the column
/// goes on around it, and it does not stand out. A fraction between -10 and -8 is there
/// or at least three different values below -9, and -9 occurs no more often than the
/// most frequent other value but 0. NaN is passed over.
bool minus_nine_is_plainly_a_value(std::span<const double> column);

/// The part of a message that says what to do.
inline constexpr const char* kMinusNineDecides =
    "--minus-nine missing or --minus-nine value decides";

}  // namespace kinflow
