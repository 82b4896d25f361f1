// Formats and columns by name, and whole tables.
#include "kinflow/data/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/suggest.h"
#include "kinflow/data/table_reader.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

constexpr TableReadSizes kWholeFile{.bytes_at_once =
                                        std::numeric_limits<std::size_t>::max()};

}  // namespace

TableFormat table_format(const std::string& path) {
  const std::string lower = lower_case(path);
  const auto ends_in = [&](const std::string& ending) {
    return lower.ends_with(ending) || lower.ends_with(ending + ".gz");
  };
  if (ends_in(".csv")) return TableFormat::csv;
  if (ends_in(".tsv") || ends_in(".txt")) return TableFormat::tsv;
  if (lower.ends_with(".npy")) return TableFormat::npy;
  throw InputError(path +
                   ": expected a name that ends in .csv, .tsv, .txt (tabs), one of "
                   "these and .gz, or .npy");
}

std::int64_t Table::column_index(const std::string& name) const {
  return column_indices({name})[0];
}

std::vector<std::int64_t> Table::column_indices(
    const std::vector<std::string>& names) const {
  constexpr std::size_t kMostShown = 20;
  std::vector<std::int64_t> indices;
  std::vector<std::string> unknown;
  for (const auto& name : names) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    indices.push_back(found - names_.begin());
    if (found == names_.end()) unknown.push_back(name);
  }
  if (unknown.empty()) return indices;
  throw InputError(fmt::format(
      "{}: no column{} {}; there are {}{}", source_, unknown.size() > 1 ? "s" : "",
      in_quotes(unknown, kMostShown), listed(names_, kMostShown),
      unknown.size() == 1 ? did_you_mean(unknown[0], names_) : ""));
}

std::int64_t Table::line_of_row(std::int64_t row) const {
  if (row_starts_.empty()) return first_row_ + row + 1;
  const auto start =
      static_cast<std::ptrdiff_t>(row_starts_[static_cast<std::size_t>(row)]);
  return first_line_ + std::count(bytes_.begin(), bytes_.begin() + start, '\n');
}

Table parse_table(std::string_view bytes, const std::string& source,
                  TableFormat format) {
  return *TableReader(bytes, source, format, kWholeFile).next(TableReader::kAllRows);
}

Table read_table(const std::string& path) {
  return *TableReader(path, kWholeFile).next(TableReader::kAllRows);
}

}  // namespace kinflow
