// Alignment of cells, plain and in Markdown.
#include "kinflow/report/text_table.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace kinflow {
namespace {

// UTF-8 continuation bytes do not count.
std::size_t character_count(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::size_t count = character_count(cell);
  const std::string space(width > count ? width - count : 0, ' ');
  return align == Align::kLeft ? cell + space : space + cell;
}

std::string escaped(const std::string& cell) {
  std::string result;
  for (const char c : cell) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

TextTable::TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) {
    throw std::invalid_argument("[TextTable] more cells than columns");
  }
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::plain() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> headings;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    headings.push_back(columns_[c].heading);
    widths.push_back(character_count(headings[c]));
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], character_count(row[c]));
    }
  }
  std::string result;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line += (c > 0 ? "  " : "") + padded(cells[c], widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  add_line(headings);
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  add_line(rule);
  for (const auto& row : rows_) add_line(row);
  return result;
}

std::string TextTable::markdown() const {
  std::string headings = "|", rule = "|", body;
  for (const auto& column : columns_) {
    headings += ' ' + escaped(column.heading) + " |";
    rule += column.align == Align::kLeft ? ":---|" : "---:|";
  }
  for (const auto& row : rows_) {
    body += '|';
    for (const auto& cell : row) body += ' ' + escaped(cell) + " |";
    body += '\n';
  }
  return headings + '\n' + rule + '\n' + body;
}

}  // namespace kinflow
