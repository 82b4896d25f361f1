// Constant, tied and numbered columns, and values apart from others.
#include "kinflow/data/check_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"

namespace kinflow {
namespace {

std::vector<double> values_of(const ColumnsView& columns, std::size_t column) {
  std::vector<double> values(static_cast<std::size_t>(columns.rows));
  for (std::int64_t row = 0; row < columns.rows; ++row) {
    values[static_cast<std::size_t>(row)] = columns.at(row, column);
  }
  return values;
}

struct MostFrequent {
  double value = 0;
  std::int64_t count = 0;
};

// The most frequent value of those that occur at least `least` times. One of them fills
// `least` places in the order of size, so it stands at a place that is a multiple.
std::optional<MostFrequent> most_frequent(std::vector<double>& values,
                                          std::int64_t least) {
  std::optional<MostFrequent> best;
  auto begin = values.begin();
  for (auto left = static_cast<std::int64_t>(values.size()); left >= least;
       left = values.end() - begin) {
    const auto place = begin + (least - 1);
    std::nth_element(begin, place, values.end());
    const double value = *place;
    const std::int64_t count = std::count(values.begin(), values.end(), value);
    if (count >= least && (!best || count > best->count)) best = {value, count};
    begin = place + 1;
  }
  return best;
}

// Rows in which two columns are equal; 0 where some of the rows show that they are few.
std::int64_t equal_rows(const ColumnsView& columns, std::size_t one, std::size_t other,
                        double share) {
  constexpr std::int64_t kSomeRows = 1000;
  const auto count = [&](std::int64_t every) {
    std::int64_t equal = 0;
    for (std::int64_t row = 0; row < columns.rows; row += every) {
      equal += columns.at(row, one) == columns.at(row, other) ? 1 : 0;
    }
    return equal;
  };
  const auto every = (columns.rows + kSomeRows - 1) / kSomeRows;
  const auto looked_at = static_cast<double>((columns.rows + every - 1) / every);
  if (static_cast<double>(count(every)) < share / 2 * looked_at) return 0;
  return count(1);
}

double quantile(std::vector<double>& values, double share) {
  const auto place =
      values.begin() +
      static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

bool is_in_order(const ColumnsView& columns, std::size_t column, bool takes_ties) {
  bool rises = true, falls = true;
  for (std::int64_t row = 1; row < columns.rows && (rises || falls); ++row) {
    const double step = columns.at(row, column) - columns.at(row - 1, column);
    rises = rises && (step > 0 || (takes_ties && step == 0));
    falls = falls && (step < 0 || (takes_ties && step == 0));
  }
  return rises || falls;
}

bool is_permutation_of_integers(const ColumnsView& columns, std::size_t column) {
  double smallest = columns.at(0, column);
  for (std::int64_t row = 1; row < columns.rows; ++row) {
    smallest = std::min(smallest, columns.at(row, column));
  }
  std::vector<bool> seen(static_cast<std::size_t>(columns.rows), false);
  for (std::int64_t row = 0; row < columns.rows; ++row) {
    const double value = columns.at(row, column), place = value - smallest;
    if (value != std::floor(value) || !(place < static_cast<double>(columns.rows)) ||
        seen[static_cast<std::size_t>(place)]) {
      return false;
    }
    seen[static_cast<std::size_t>(place)] = true;
  }
  return true;
}

// Where there are blocks of several rows, and several blocks.
bool is_constant_in_blocks(const ColumnsView& columns, std::size_t column,
                           const std::vector<std::int64_t>& block_of_row) {
  std::vector<std::int64_t> first_row_of_block;
  bool has_repeats = false;
  for (std::int64_t row = 0; row < columns.rows; ++row) {
    const auto block =
        static_cast<std::size_t>(block_of_row[static_cast<std::size_t>(row)]);
    if (block >= first_row_of_block.size()) first_row_of_block.resize(block + 1, -1);
    auto& first = first_row_of_block[block];
    if (first < 0) {
      first = row;
      continue;
    }
    has_repeats = true;
    if (columns.at(row, column) != columns.at(first, column)) return false;
  }
  return has_repeats;
}

std::string look_of_label(const ColumnsView& columns, std::size_t column,
                          const LabelRule& rule) {
  const auto& block_of_row = rule.block_of_row;
  if (columns.rows < kLeastCountedRows) return "";
  if (is_in_order(columns, column, rule.ties_are_in_order)) {
    return "in the order of the rows";
  }
  if (is_permutation_of_integers(columns, column)) return "one integer for each row";
  const auto values = values_of(columns, column);
  if (std::ranges::all_of(values, is_date_without_hyphens)) return "dates";
  if (std::ranges::all_of(values, is_month_without_hyphen)) return "months";
  if (!block_of_row.empty() && is_constant_in_blocks(columns, column, block_of_row)) {
    return "one value in each group";
  }
  return "";
}

// Whether the farthest value repeats itself, apart from all others, which do not: -1
// among weights in kilograms. A limit of what can be measured has neighbours.
// @param tail  distances from the median on its side
bool is_repeated_code(std::vector<double> values, const std::vector<double>& tail,
                      double farthest, const FarValue& far) {
  constexpr std::int64_t kLeastRows = 3, kMoreFrequent = 3;
  constexpr double kCodeSteps = 1.5;
  if (far.count < kLeastRows) return false;
  double next = 0;
  for (const double own : tail) {
    if (own < farthest) next = std::max(next, own);
  }
  if (next == 0 || farthest < kCodeSteps * next) return false;
  std::erase(values, far.value);
  return !most_frequent(values,
                        std::max<std::int64_t>(2, far.count / kMoreFrequent + 1));
}

// The farthest value above the median that lies apart, in units of `sign`.
void add_far_value(std::vector<double>& values, double sign, double median,
                   const FarValue& column, std::vector<FarValue>& found) {
  constexpr double kFarScales = 10, kFarSteps = 4;
  const double scale = sign > 0 ? column.high - median : median - column.low;
  if (!(scale > 0)) return;
  const auto distance = [&](double value) { return sign * (value - median); };
  // Those beyond the quantile in order, from the nearest on.
  std::vector<double> tail;
  for (const double value : values) {
    if (distance(value) >= scale) tail.push_back(distance(value));
  }
  double farthest = 0;
  for (const double own : tail) farthest = std::max(farthest, own);
  const auto is_farthest = [&](double value) { return distance(value) == farthest; };
  auto far = column;
  far.value = *std::find_if(values.begin(), values.end(), is_farthest);
  far.count = std::count(values.begin(), values.end(), far.value);
  if (is_repeated_code(values, tail, farthest, far)) {
    found.push_back(far);
    return;
  }
  if (farthest < kFarScales * scale) return;
  std::sort(tail.begin(), tail.end());
  for (std::size_t i = 1; i < tail.size(); ++i) {
    if (tail[i] < kFarScales * scale || tail[i] < kFarSteps * tail[i - 1]) continue;
    found.push_back(far);
    return;
  }
}

}  // namespace

void check_spread(const ColumnsView& columns) {
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const double first = columns.at(0, i);
    bool differs = false;
    for (std::int64_t row = 1; row < columns.rows && !differs; ++row) {
      differs = columns.at(row, i) != first;
    }
    if (differs) continue;
    throw InputError(
        fmt::format("{}: column {}: expected values that differ, found {} in all {} "
                    "training rows",
                    columns.source, in_quotes(columns.names[i]), first, columns.rows));
  }
}

void check_ties(const ColumnsView& columns, const TieRule& rule) {
  const auto least = std::max(
      kLeastTies, static_cast<std::int64_t>(
                      std::ceil(rule.share * static_cast<double>(columns.rows))));
  const auto percent = [&](std::int64_t count) {
    return fmt::format("{:.1f}%", 100 * static_cast<double>(count) /
                                      static_cast<double>(columns.rows));
  };
  std::vector<std::string> found, names;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const auto& name = columns.names[i];
    if (std::count(rule.allowed.begin(), rule.allowed.end(), name) > 0) continue;
    auto values = values_of(columns, i);
    if (const auto tied = most_frequent(values, least)) {
      names.push_back(name);
      found.push_back(fmt::format("the value {} in {} of the rows of {}", tied->value,
                                  percent(tied->count), in_quotes(name)));
      continue;
    }
    for (std::size_t before = 0; before < i; ++before) {
      const auto equal = equal_rows(columns, before, i, rule.share);
      if (equal < least) continue;
      names.push_back(name);
      found.push_back(fmt::format("{} equal to {} in {} of the rows", in_quotes(name),
                                  in_quotes(columns.names[before]), percent(equal)));
      break;
    }
  }
  if (found.empty()) return;
  throw InputError(fmt::format(
      "{}: expected continuous columns for a flow, found {}; {}, or take "
      "such columns as they are with --allow-ties {}",
      columns.source, fmt::join(found, ", "), rule.advice, fmt::join(names, ",")));
}

void check_no_labels(const ColumnsView& columns, const LabelRule& rule) {
  std::vector<std::string> found, others;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const auto look = look_of_label(columns, i, rule);
    if (look.empty()) {
      others.push_back(columns.names[i]);
    } else {
      found.push_back(fmt::format("{} ({})", in_quotes(columns.names[i]), look));
    }
  }
  if (found.empty()) return;
  constexpr std::size_t kShown = 20;
  const bool is_short = !others.empty() && others.size() <= kShown;
  throw InputError(fmt::format(
      "{}: expected measurements, found what looks like labels of rows: {}; name the "
      "columns to model{}",
      columns.source, fmt::join(found, ", "),
      is_short ? fmt::format(": {} {}", rule.option, fmt::join(others, ","))
               : " with " + rule.option));
}

std::vector<FarValue> far_values(const ColumnsView& columns) {
  std::vector<FarValue> found;
  for (std::size_t i = 0; i < columns.names.size() && columns.rows > 2; ++i) {
    auto values = values_of(columns, i);
    const double median = quantile(values, 0.5);
    const FarValue column{
        .column = i, .low = quantile(values, 0.1), .high = quantile(values, 0.9)};
    const auto known = found.size();
    add_far_value(values, 1, median, column, found);
    add_far_value(values, -1, median, column, found);
    for (auto far = known; far < found.size(); ++far) {
      auto& row = found[far].row;
      while (columns.at(row, i) != found[far].value) ++row;
    }
  }
  return found;
}

std::string describe(const FarValue& far, const ColumnsView& columns,
                     const std::string& place) {
  return fmt::format(
      "{}: column {}: {} lies far from all other values{} (80% of them are between "
      "{:.6g} and {:.6g}); is it a mistake, or a code for a missing value?",
      place, in_quotes(columns.names[far.column]), far.value,
      far.count > 1 ? fmt::format(", in {} rows", far.count) : "", far.low, far.high);
}

}  // namespace kinflow
