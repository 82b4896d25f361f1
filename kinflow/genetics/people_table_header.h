// The header of a table of people: where the ids stand, and which columns are chosen.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/column_names.h"
#include "kinflow/data/delimited_lines.h"
#include "kinflow/data/sample_ids.h"
#include "kinflow/data/suggest.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {

/// What the columns of a file are, in the words of its messages.
struct ColumnMeaning {
  const char* column;       ///< "trait"
  const char* name_option;  ///< that chooses columns
  bool may_be_categories;
};

inline bool is_number_or_missing(std::string_view cell) {
  double ignored = 0;
  return read_number(cell, ignored) != CellKind::text;
}

inline bool names_family(std::string_view cell) {
  const std::string name = lower_case(cell);
  return name == "fid" || name == "#fid";
}

inline bool names_individual(std::string_view cell) {
  const std::string name = lower_case(cell);
  return name == "iid" || name == "#iid";
}

/// Where the ids of a row stand.
class IdColumns {
 public:
  explicit IdColumns(const DelimitedLines& lines) {
    const auto& header = lines.header();
    if (header.empty()) lines.fail("expected a header, found separators only");
    has_family_ = names_family(header[0]);
    if (!has_family_ && !names_individual(header[0])) fail_without_header(lines);
    if (has_family_ && (header.size() < 2 || !names_individual(header[1]))) {
      lines.fail(fmt::format(
          "expected the column IID after {}, found {}", in_quotes(header[0]),
          header.size() < 2 ? std::string("nothing") : in_quotes(header[1])));
    }
    for (std::size_t i = count(); i < header.size(); ++i) {
      if (!names_family(header[i]) && !names_individual(header[i])) continue;
      lines.fail(
          fmt::format("expected FID and IID, or IID alone, as the first columns, "
                      "found {} as column {}",
                      in_quotes(header[i]), i + 1));
    }
  }

  std::size_t count() const { return has_family_ ? 2 : 1; }

  SampleId of(const DelimitedLines& lines) const {
    const auto& cells = lines.cells();
    SampleId id = sample_id(has_family_ ? cells[0] : "", cells[count() - 1]);
    if (id.individual.empty() || !is_printable_utf8(id.individual) ||
        !is_printable_utf8(id.family)) {
      lines.fail(fmt::format("expected ids of UTF-8 text, found {}", in_quotes(id)));
    }
    return id;
  }

 private:
  [[noreturn]] static void fail_without_header(const DelimitedLines& lines) {
    const auto& cells = lines.header();
    const bool has_numbers_only =
        cells.size() > 1 && std::all_of(cells.begin() + (cells.size() > 2 ? 2 : 1),
                                        cells.end(), is_number_or_missing);
    lines.fail(fmt::format(
        "expected a header whose first columns are FID and IID, or IID alone, found {}",
        has_numbers_only ? "a line of numbers and no header"
                         : in_quotes(cells[0]) + " as the first column"));
  }

  bool has_family_;
};

/// The columns of a file beside the ids, by their names.
class ColumnNames {
 public:
  ColumnNames(const DelimitedLines& lines, std::size_t first,
              const ColumnMeaning& meaning)
      : lines_(lines), first_(first), meaning_(meaning) {
    const auto& header = lines.header();
    for (std::size_t i = first; i < header.size(); ++i) {
      if (header[i].empty() || !is_printable_utf8(header[i])) {
        lines.fail(fmt::format("expected a name of UTF-8 text for column {}, found {}",
                               i + 1, in_quotes(header[i])));
      }
      const auto [found, is_new] = index_.emplace(header[i], i);
      if (is_new) continue;
      lines.fail(
          fmt::format("expected columns of different names, found {} as columns "
                      "{} and {}",
                      in_quotes(header[i]), found->second + 1, i + 1));
    }
    if (index_.empty()) {
      lines.fail(
          fmt::format("expected a {} beside the ids, found ids only", meaning.column));
    }
  }

  /// Places of the columns that are asked for.
  std::vector<std::size_t> chosen(const std::vector<std::string>& wanted) const {
    std::vector<std::size_t> places;
    if (wanted.empty()) {
      for (std::size_t i = first_; i < lines_.header().size(); ++i) places.push_back(i);
      return places;
    }
    const auto is_name = [&](const std::string& name) { return index_.contains(name); };
    std::set<std::size_t> taken;
    std::vector<std::string> unknown;
    for (const std::string& text : with_commas_inside(wanted, is_name)) {
      for_each_name(text, [&](const std::string& name) {
        const auto found = index_.find(name);
        if (found == index_.end()) {
          unknown.push_back(name);
          return false;
        }
        if (!taken.insert(found->second).second) {
          throw InputError(fmt::format("{}: expected every {} once, found {} twice",
                                       meaning_.name_option, meaning_.column,
                                       in_quotes(name)));
        }
        places.push_back(found->second);
        return true;
      });
    }
    if (!unknown.empty()) fail_for_unknown(unknown);
    return places;
  }

 private:
  static constexpr std::size_t kMostNamed = 20;

  /// Calls use(name) with the names that a text stands for, PC{1:3} for PC1, PC2, PC3,
  /// until it gives false: a range may have no end in sight.
  template <typename Use>
  void for_each_name(const std::string& text, const Use& use) const {
    const std::size_t open = text.find('{'), colon = text.find(':', open),
                      close = text.find('}', colon);
    if (index_.contains(text) || open == text.npos || close == text.npos) {
      use(text);
      return;
    }
    const auto first = whole_number(text.substr(open + 1, colon - open - 1));
    const auto last = whole_number(text.substr(colon + 1, close - colon - 1));
    if (!first || !last || *first > *last) {
      throw InputError(fmt::format("{}: expected a range such as PC{{1:10}}, found {}",
                                   meaning_.name_option, in_quotes(text)));
    }
    for (std::int64_t i = *first; i <= *last; ++i) {
      if (!use(text.substr(0, open) + std::to_string(i) + text.substr(close + 1)))
        return;
    }
  }

  static std::optional<std::int64_t> whole_number(const std::string& text) {
    std::int32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0) return std::nullopt;
    return value;
  }

  [[noreturn]] void fail_for_unknown(const std::vector<std::string>& unknown) const {
    const auto names = std::span(lines_.header()).subspan(first_);
    throw InputError(fmt::format(
        "{}: expected {} {} ({}), found {}{}", lines_.source(),
        unknown.size() > 1 ? "columns" : "a column", in_quotes(unknown, kMostNamed),
        meaning_.name_option, in_quotes(names, kMostNamed),
        unknown.size() == 1 ? did_you_mean(unknown[0], names) : ""));
  }

  const DelimitedLines& lines_;
  std::size_t first_;
  const ColumnMeaning& meaning_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace kinflow
