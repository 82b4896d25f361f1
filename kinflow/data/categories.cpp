// Finding categories and mapping labels to them.
#include "kinflow/data/categories.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"

namespace kinflow {

bool holds_categories(const Table& table, const std::string& column) {
  const auto cells = cell_texts(table, column);
  std::int64_t text_row = -1, number_row = -1;
  for (std::size_t i = 0; i < cells.size() && (text_row < 0 || number_row < 0); ++i) {
    double ignored = 0;
    const auto kind = read_number(cells[i], ignored);
    const auto row = static_cast<std::int64_t>(i);
    if (kind == CellKind::text && text_row < 0) text_row = row;
    if (kind == CellKind::number && number_row < 0) number_row = row;
  }
  if (text_row < 0 || number_row < 0) return text_row >= 0;
  const auto cell = [&](std::int64_t row) {
    return in_quotes(cells[static_cast<std::size_t>(row)]);
  };
  throw InputError(
      fmt::format("{}:{}: column {}: expected numbers alone, or names of categories "
                  "alone, found {} "
                  "here and {} in line {}",
                  table.source(), table.line_of_row(text_row), in_quotes(column),
                  cell(text_row), cell(number_row), table.line_of_row(number_row)));
}

std::vector<std::string> find_levels(const Table& table, const std::string& column,
                                     const std::vector<std::string>& labels) {
  const std::set<std::string> levels(labels.begin(), labels.end());
  if (levels.size() > kMostLevels) {
    throw InputError(fmt::format(
        "{}: column {}: expected numbers, or at most {} categories, found {} "
        "different texts such as {}",
        table.source(), in_quotes(column), kMostLevels, levels.size(),
        in_quotes(*levels.begin())));
  }
  if (levels.size() == 1) {
    throw InputError(
        fmt::format("{}: column {}: expected categories that differ, found {} in all "
                    "rows",
                    table.source(), in_quotes(column), in_quotes(*levels.begin())));
  }
  return {levels.begin(), levels.end()};
}

std::vector<double> indicators(const Table& table, const std::string& column,
                               const std::vector<std::string>& levels,
                               const std::vector<std::int64_t>& rows) {
  const auto width = levels.size() - 1;
  const auto label_of_row = labels(table, column, rows);
  std::vector<double> values(rows.size() * width, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = std::lower_bound(levels.begin(), levels.end(), label_of_row[i]);
    if (found == levels.end() || *found != label_of_row[i]) {
      std::vector<std::string> known;
      for (const auto& level : levels) known.push_back(in_quotes(level));
      throw InputError(fmt::format(
          "{}:{}: column {}: expected a category that the model knows ({}), found {}",
          table.source(), table.line_of_row(rows[i]), in_quotes(column),
          fmt::join(known, ", "), in_quotes(label_of_row[i])));
    }
    const auto level = static_cast<std::size_t>(found - levels.begin());
    if (level > 0) values[i * width + level - 1] = 1;
  }
  return values;
}

std::vector<std::string> expanded_names(const std::vector<std::string>& columns,
                                        const CategoryLevels& levels) {
  std::vector<std::string> names;
  for (const auto& column : columns) {
    const auto own = levels.find(column);
    if (own == levels.end()) {
      names.push_back(column);
      continue;
    }
    for (std::size_t i = 1; i < own->second.size(); ++i) {
      names.push_back(column + "=" + own->second[i]);
    }
  }
  return names;
}

}  // namespace kinflow
