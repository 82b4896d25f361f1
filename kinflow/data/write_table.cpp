// Numbers in their shortest form, text quoted where it must be.
#include "kinflow/data/write_table.h"

#include <charconv>
#include <stdexcept>
#include <string_view>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/table.h"

namespace kinflow {
namespace {

/// `text` so that it reads back as the same text.
std::string as_cell(const std::string& text, char delimiter) {
  const bool blanks_around =
      !text.empty() && (text.front() == ' ' || text.back() == ' ');
  const bool special = text.find_first_of("\"\r\n\t") != std::string::npos ||
                       text.find(delimiter) != std::string::npos;
  if (!blanks_around && !special) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

}  // namespace

void write_table(const std::string& path, const std::vector<std::string>& names,
                 std::span<const double> values,
                 const std::vector<TextColumn>& text_columns) {
  const std::size_t width = names.size();
  const std::size_t rows = width > 0              ? values.size() / width
                           : text_columns.empty() ? 0
                                                  : text_columns[0].cells.size();
  bool agrees = values.size() == rows * width;
  for (const TextColumn& column : text_columns) {
    agrees = agrees && column.cells.size() == rows;
  }
  if (!agrees) throw std::logic_error("[write_table] columns of different lengths");

  const TableFormat format = table_format(path);
  if (format == TableFormat::npy) {
    if (!text_columns.empty()) {
      throw InputError(path + ": an .npy file cannot hold the text column '" +
                       text_columns[0].name + "'; expected .csv or .tsv");
    }
    write_npy(path, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)},
              values);
    return;
  }

  const char delimiter = format == TableFormat::csv ? ',' : '\t';
  AtomicFile file(path);
  std::string line;
  for (const std::string& name : names) line += as_cell(name, delimiter) + delimiter;
  for (const TextColumn& column : text_columns) {
    line += as_cell(column.name, delimiter) + delimiter;
  }
  if (!line.empty()) line.back() = '\n';
  file.write(line);
  char digits[32];
  for (std::size_t row = 0; row < rows; ++row) {
    line.clear();
    for (std::size_t c = 0; c < width; ++c) {
      const auto end =
          std::to_chars(digits, digits + sizeof(digits), values[row * width + c]).ptr;
      line.append(digits, end).push_back(delimiter);
    }
    for (const TextColumn& column : text_columns) {
      line += as_cell(column.cells[row], delimiter) + delimiter;
    }
    line.back() = '\n';
    file.write(line);
  }
  file.commit();
}

}  // namespace kinflow
