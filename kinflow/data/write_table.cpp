// Numbers in their shortest form, text quoted where it must be.
#include "kinflow/data/write_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "kinflow/core/error.h"
#include "kinflow/data/npy.h"

namespace kinflow {
namespace {

/// Appends `text` so that it reads back as the same text.
void append_cell(std::string& line, std::string_view text, char delimiter) {
  const bool blanks_around =
      !text.empty() && (text.front() == ' ' || text.back() == ' ');
  const bool special = text.find_first_of("\"\r\n\t") != std::string_view::npos ||
                       text.find(delimiter) != std::string_view::npos;
  if (!blanks_around && !special) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

TableFormat checked_format(const std::string& path,
                           const std::vector<std::string>& text_names) {
  const TableFormat format = table_format(path);
  if (format == TableFormat::npy && !text_names.empty()) {
    throw InputError(path + ": an .npy file cannot hold the text column '" +
                     text_names[0] + "'; expected .csv or .tsv");
  }
  return format;
}

using TextCells = std::vector<std::span<const std::string>>;

/// The number of rows, which all columns have.
std::size_t checked_rows(std::span<const double> values, std::size_t columns,
                         const TextCells& text) {
  const std::size_t rows = columns > 0    ? values.size() / columns
                           : text.empty() ? 0
                                          : text[0].size();
  bool agrees = values.size() == rows * columns;
  for (const auto& cells : text) agrees = agrees && cells.size() == rows;
  if (!agrees) throw std::logic_error("[TableWriter] columns of different lengths");
  return rows;
}

std::string array_preamble(std::uint64_t rows, std::size_t columns) {
  return npy_preamble(
      {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
}

}  // namespace

TableWriter::TableWriter(const std::string& path, const std::vector<std::string>& names,
                         const std::vector<std::string>& text_names)
    : format_(checked_format(path, text_names)),
      columns_(names.size()),
      has_one_column_(names.size() + text_names.size() == 1),
      file_(path) {
  if (format_ == TableFormat::npy) {
    // The number of rows is not known yet; the length of the preamble is.
    if (!file_.is_direct()) file_.write(array_preamble(0, columns_));
    return;
  }
  std::string line;
  for (const auto* group : {&names, &text_names}) {
    for (const std::string& name : *group) {
      append_cell(line, name, delimiter());
      line += delimiter();
    }
  }
  if (!line.empty()) line.back() = '\n';
  file_.write(line);
}

std::string TableWriter::format(std::span<const double> values,
                                const TextCells& text) const {
  const std::size_t rows = checked_rows(values, columns_, text);
  if (format_ == TableFormat::npy) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
  }
  constexpr std::size_t kUsualCell = 20;
  std::string lines;
  lines.reserve(rows * (columns_ + text.size()) * kUsualCell);
  char digits[32];
  for (std::size_t row = 0; row < rows; ++row) {
    for (const double value : values.subspan(row * columns_, columns_)) {
      if (std::isnan(value)) {
        // Many readers pass over a line without a character.
        lines += has_one_column_ ? "\"\"" : "";
        lines += delimiter();
        continue;
      }
      char* end = std::to_chars(digits, digits + sizeof(digits) - 1, value).ptr;
      *end++ = delimiter();
      lines.append(digits, end);
    }
    for (const auto& cells : text) {
      append_cell(lines, cells[row], delimiter());
      lines += delimiter();
    }
    lines.back() = '\n';
  }
  return lines;
}

void TableWriter::append(std::string_view formatted) {
  bytes_ += formatted.size();
  if (format_ == TableFormat::npy && file_.is_direct()) {
    held_back_ += formatted;
  } else {
    file_.write(formatted);
  }
}

void TableWriter::finish() {
  if (format_ == TableFormat::npy) {
    const auto preamble = array_preamble(
        columns_ == 0 ? 0 : bytes_ / (columns_ * sizeof(double)), columns_);
    if (file_.is_direct()) {
      file_.write(preamble);
      file_.write(held_back_);
    } else {
      file_.overwrite(0, preamble);
    }
  }
  file_.commit();
}

void write_table(const std::string& path, const std::vector<std::string>& names,
                 std::span<const double> values,
                 const std::vector<TextColumn>& text_columns) {
  const std::size_t width = names.size();
  std::vector<std::string> text_names;
  TextCells text;
  for (const TextColumn& column : text_columns) {
    text_names.push_back(column.name);
    text.emplace_back(column.cells);
  }
  const std::size_t rows = checked_rows(values, width, text);
  TableWriter writer(path, names, text_names);
  constexpr std::size_t kRowsAtOnce = 1 << 14;
  for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, rows - first);
    TextCells part;
    for (const auto& cells : text) part.push_back(cells.subspan(first, count));
    writer.append(writer.format(values.subspan(first * width, count * width), part));
  }
  writer.finish();
}

}  // namespace kinflow
