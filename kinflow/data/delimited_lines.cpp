// Lines cut into cells.
#include "kinflow/data/delimited_lines.h"

#include <fmt/format.h>

#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/data/cells.h"

namespace kinflow {
namespace {

char delimiter_of(std::string_view header) {
  if (header.find('\t') != header.npos) return '\t';
  return header.find(',') != header.npos ? ',' : ' ';
}

}  // namespace

DelimitedLines::DelimitedLines(const std::string& path) : lines_(path) {
  read_header();
}

DelimitedLines::DelimitedLines(std::string_view bytes, std::string source)
    : lines_(bytes, std::move(source)) {
  read_header();
}

void DelimitedLines::read_header() {
  std::string_view line;
  do {
    if (!lines_.next_filled()) {
      throw InputError(source() + ": expected a header and rows, found an empty file");
    }
    line = lines_.line();
  } while (line.starts_with("##"));
  delimiter_ = delimiter_of(line);
  split(line);
  header_ = cells_;
}

bool DelimitedLines::next() {
  if (!lines_.next_filled()) return false;
  split(lines_.line());
  if (cells_.size() != header_.size()) {
    fail(fmt::format("expected {} as in the header, found {}",
                     counted(header_.size(), "cell"), cells_.size()));
  }
  return true;
}

void DelimitedLines::split(std::string_view line) {
  count_ = 0;
  if (delimiter_ == ' ') {
    // A comma belongs to its cell: "1,5" is not two numbers.
    for (std::string_view cell; next_cell(line, cell, " \t\r");) add_cell(cell);
  } else {
    split_at_delimiter(line);
  }
  cells_.resize(count_);
}

void DelimitedLines::split_at_delimiter(std::string_view line) {
  CellReader reader(line, 0, delimiter_);
  try {
    do {
      add_cell(reader.next());
    } while (!reader.at_end_of_row());
  } catch (const QuoteError& error) {
    fail("expected cells in whole quotes or without, found " + error.message);
  }
}

void DelimitedLines::add_cell(std::string_view cell) {
  if (count_ == cells_.size()) cells_.emplace_back();
  cells_[count_++] = cell;
}

}  // namespace kinflow
