// Formats and columns by name, and whole tables.
#include "kinflow/data/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/table_reader.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

constexpr TableReadSizes kWholeFile{.bytes_at_once =
                                        std::numeric_limits<std::size_t>::max()};

}  // namespace

TableFormat table_format(const std::string& path) {
  const std::string lower = lower_case(path);
  if (lower.ends_with(".csv")) return TableFormat::csv;
  if (lower.ends_with(".tsv") || lower.ends_with(".txt")) return TableFormat::tsv;
  if (lower.ends_with(".npy")) return TableFormat::npy;
  throw InputError(path +
                   ": expected a name that ends in .csv, .tsv, .txt (tabs) or .npy");
}

std::int64_t Table::column_index(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return found - names_.begin();
  constexpr std::size_t kShown = 20;
  std::string listed;
  for (std::size_t i = 0; i < std::min(names_.size(), kShown); ++i) {
    listed += (i == 0 ? "" : ", ") + names_[i];
  }
  if (names_.size() > kShown) listed += fmt::format(", ... ({} in all)", names_.size());
  throw InputError(
      fmt::format("{}: no column {}; there are {}", source_, in_quotes(name), listed));
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
