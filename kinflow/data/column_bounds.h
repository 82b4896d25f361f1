// Columns whose values lie between bounds, as ages above 18 or shares between 0 and 1.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace kinflow {

/// The open interval that the values of a column lie in, and a fixed increasing map of
/// it to the real line: log(x - low) with a lower bound, -log(high - x) with an upper
/// one, log((x - low) / (high - x)) with both. Without bounds it is the identity.
struct ColumnBounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool operator==(const ColumnBounds&) const = default;
  bool has_low() const { return low > -std::numeric_limits<double>::infinity(); }
  bool has_high() const { return high < std::numeric_limits<double>::infinity(); }
  bool contain(double value) const { return low < value && value < high; }
  /// Whether float64 has numbers between them, and their distance.
  bool are_sound() const;

  /// The place of a value on the line; a value that is not inside counts as the nearest
  /// one that is.
  double to_line(double value) const;
  /// log of the slope of to_line(); -infinity where a value is not inside.
  double log_slope(double value) const;
  /// The value of a place, always inside.
  double from_line(double place) const;

  /// "above 18", "below 100", "between 0 and 1".
  std::string in_words() const;
  /// What a column of this name holds once it is mapped, as "log(age - 18)".
  std::string name_on_line(const std::string& column) const;
};

/// A column with the bounds that a user gave it.
struct BoundedColumn {
  std::string column;
  ColumnBounds bounds;
};
/// From "age=18:100"; either number may be left out.
/// @param place  of the text, for the InputError
BoundedColumn read_bounded_column(const std::string& text, const std::string& place);
/// The same text.
std::string text_of(const BoundedColumn& bounded);

/// The bounds of every column, none for those that are not named; empty where nothing
/// is. InputError for a name that is not among the columns, and for one named twice.
std::vector<ColumnBounds> bounds_for(std::span<const BoundedColumn> bounded,
                                     std::span<const std::string> columns);

}  // namespace kinflow
