// Columns of text as categories, each an indicator column of 0 and 1.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kinflow/data/table.h"

namespace kinflow {

/// The categories of columns of text, by the name of the column, in the order of bytes.
/// The first is the reference: each of the others becomes a column that is 1 in its
/// rows.
using CategoryLevels = std::map<std::string, std::vector<std::string>>;

/// Categories of a column at most.
inline constexpr std::size_t kMostLevels = 50;

/// Whether a column holds text that is neither a number nor missing. InputError where
/// it holds numbers too: one of them may be a mistake.
bool holds_categories(const Table& table, const std::string& column);

/// The different labels in order. InputError for more than kMostLevels and for one
/// alone.
std::vector<std::string> find_levels(const Table& table, const std::string& column,
                                     const std::vector<std::string>& labels);

/// The indicators of a column, row by row: [rows x (levels - 1)]. InputError, with the
/// line and the levels, for a label that is none of them.
std::vector<double> indicators(const Table& table, const std::string& column,
                               const std::vector<std::string>& levels,
                               const std::vector<std::int64_t>& rows);

/// The columns of numbers that given ones become: "age", "region=north", ...
/// Those that were numbers keep their names.
std::vector<std::string> expanded_names(const std::vector<std::string>& columns,
                                        const CategoryLevels& levels);

}  // namespace kinflow
