// Rows of tables put in the places of their people, column by column.
#include "kinflow/genetics/people_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/sample_index.h"

namespace kinflow {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinusNine = -9;
constexpr std::size_t kNamedColumns = 20;

/// What the columns of a file are, in the words of its messages.
struct Meaning {
  const char* column;       ///< "trait"
  const char* name_option;  ///< that chooses columns
  bool may_be_categories;
};
constexpr Meaning kTraits{"trait", "--pheno-name", false};
constexpr Meaning kCovariates{"covariate", "--covar-name", true};

bool is_missing(std::string_view cell) { return cell == "." || is_missing_cell(cell); }

bool is_number_or_missing(std::string_view cell) {
  double ignored = 0;
  return cell == "." || read_number(cell, ignored) != CellKind::text;
}

bool names_family(std::string_view cell) {
  const std::string name = lower_case(cell);
  return name == "fid" || name == "#fid";
}

bool names_individual(std::string_view cell) {
  const std::string name = lower_case(cell);
  return name == "iid" || name == "#iid";
}

// ---- columns of ids

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

// ---- choice of columns

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kNamedColumns) return text + fmt::format(" and {} more", names.size() - i);
    text += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  }
  return text;
}

/// The columns of a file beside the ids, by their names.
class ColumnNames {
 public:
  ColumnNames(const DelimitedLines& lines, std::size_t first, const Meaning& meaning)
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
    std::set<std::size_t> taken;
    for (const std::string& text : wanted) {
      for_each_name(text, [&](const std::string& name) {
        const std::size_t place = find(name);
        if (!taken.insert(place).second) {
          throw InputError(fmt::format("{}: expected every {} once, found {} twice",
                                       meaning_.name_option, meaning_.column,
                                       in_quotes(name)));
        }
        places.push_back(place);
      });
    }
    return places;
  }

 private:
  /// Calls use(name) with the names that a text stands for: PC{1:3} for PC1, PC2, PC3.
  template <typename Use>
  void for_each_name(const std::string& text, const Use& use) const {
    const std::size_t open = text.find('{'), colon = text.find(':', open),
                      close = text.find('}', colon);
    if (index_.contains(text) || open == text.npos || close == text.npos) {
      return use(text);
    }
    const auto first = whole_number(text.substr(open + 1, colon - open - 1));
    const auto last = whole_number(text.substr(colon + 1, close - colon - 1));
    if (!first || !last || *first > *last) {
      throw InputError(fmt::format("{}: expected a range such as PC{{1:10}}, found {}",
                                   meaning_.name_option, in_quotes(text)));
    }
    for (std::int64_t i = *first; i <= *last; ++i) {
      use(text.substr(0, open) + std::to_string(i) + text.substr(close + 1));
    }
  }

  static std::optional<std::int64_t> whole_number(const std::string& text) {
    std::int32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0) return std::nullopt;
    return value;
  }

  std::size_t find(const std::string& name) const {
    if (const auto found = index_.find(name); found != index_.end()) {
      return found->second;
    }
    const auto names = std::span(lines_.header()).subspan(first_);
    std::string hint;
    for (const std::string& known : names) {
      if (lower_case(known) != lower_case(name)) continue;
      hint = fmt::format("; did you mean {}?", in_quotes(known));
    }
    throw InputError(fmt::format("{}: expected a column {} ({}), found {}{}",
                                 lines_.source(), in_quotes(name), meaning_.name_option,
                                 listed(names), hint));
  }

  const DelimitedLines& lines_;
  std::size_t first_;
  const Meaning& meaning_;
  std::unordered_map<std::string, std::size_t> index_;
};

// ---- content of columns

/// The first cell of a kind.
struct Occurrence {
  std::int64_t line = 0;  ///< 0: there is none
  std::string cell = {};

  void note(std::int64_t at, std::string_view text) {
    if (line == 0) *this = {at, std::string(text)};
  }
  explicit operator bool() const { return line > 0; }
};

/// A column as it is read: numbers until the whole of it is known.
class Column {
 public:
  Column(std::string name, std::size_t place, std::size_t people,
         const Meaning& meaning)
      : name_(std::move(name)),
        place_(place),
        meaning_(meaning),
        values_(people, kMissing),
        labels_(meaning.may_be_categories ? people : 0) {}

  const std::string& name() const { return name_; }

  /// Takes the cell of a person.
  void take(std::size_t person, const DelimitedLines& lines) {
    const std::string& cell = lines.cells()[place_];
    if (is_missing(cell)) return;
    double value = 0;
    const CellKind kind = read_number(cell, value);
    if (kind == CellKind::missing) return;
    if (!labels_.empty()) labels_[person] = cell;
    if (kind == CellKind::text) text_.note(lines.line(), cell);
    if (kind == CellKind::infinite) infinite_.note(lines.line(), cell);
    if (kind != CellKind::number) return;
    values_[person] = value;
    if (value == kMinusNine) {
      minus_nine_.note(lines.line(), cell);
      ++minus_nines_;
    } else {
      number_.note(lines.line(), cell);
      if (value >= -10 && value <= -8) near_minus_nine_.note(lines.line(), cell);
    }
  }

  bool has_text() const { return static_cast<bool>(text_); }

  /// The column as numbers.
  std::vector<double> numbers(const PeopleTableRequest& request, PeopleTable& table) {
    const std::string& source = table.source;
    for (const Occurrence* bad : {&text_, &infinite_}) {
      if (*bad) fail(source, *bad, "expected a number, found " + in_quotes(bad->cell));
    }
    if (!minus_nine_ || request.minus_nine == MinusNine::value) return take_values();
    if (near_minus_nine_ && request.minus_nine == MinusNine::careful) {
      fail(source, minus_nine_,
           fmt::format("expected -9 either as a missing value or as a number, found it "
                       "beside {} in line {}; --minus-nine missing or --minus-nine "
                       "value decides",
                       in_quotes(near_minus_nine_.cell), near_minus_nine_.line));
    }
    std::replace(values_.begin(), values_.end(), kMinusNine, kMissing);
    table.notes.push_back(fmt::format("{}: {} {}: {} values of -9 taken as missing",
                                      source, meaning_.column, in_quotes(name_),
                                      minus_nines_));
    return take_values();
  }

  /// The column as labels.
  CategoryColumn categories(const PeopleTableRequest& request, bool is_asked_for,
                            PeopleTable& table) {
    std::set<std::string_view> different;
    for (std::string& label : labels_) {
      if (request.minus_nine != MinusNine::value && label == "-9") label.clear();
      if (label.empty()) continue;
      different.insert(label);
      if (is_printable_utf8(label)) continue;
      throw InputError(
          fmt::format("{}: column {}: expected labels of UTF-8 text, found {}",
                      table.source, in_quotes(name_), in_quotes(label)));
    }
    const auto count = static_cast<std::int64_t>(different.size());
    if (!is_asked_for && number_ && count > kMostMixedLabels) {
      fail(table.source, text_,
           fmt::format("expected a number as in line {}, found {}; --cat-covar takes "
                       "the column, with {} labels, as categories",
                       number_.line, in_quotes(text_.cell), count));
    }
    table.notes.push_back(fmt::format("{}: {} {}: taken as categories, {} labels",
                                      table.source, meaning_.column, in_quotes(name_),
                                      count));
    return {.name = name_, .labels = std::move(labels_)};
  }

 private:
  std::vector<double> take_values() { return std::move(values_); }

  [[noreturn]] void fail(const std::string& source, const Occurrence& where,
                         const std::string& what) const {
    throw InputError(fmt::format("{}:{}: column {}: {}", source, where.line,
                                 in_quotes(name_), what));
  }

  std::string name_;
  std::size_t place_;
  const Meaning& meaning_;
  std::vector<double> values_;       // [people]
  std::vector<std::string> labels_;  // [people], of columns that may be categories
  Occurrence text_, infinite_, number_, minus_nine_, near_minus_nine_;
  std::int64_t minus_nines_ = 0;
};

// ---- rows

/// Finds the people of rows, each of whom may have one.
class RowMatcher {
 public:
  RowMatcher(const std::vector<Person>& people, const DelimitedLines& lines)
      : lines_(lines),
        index_(ids_of(people), "the .fam"),
        fail_([&lines](const std::string& what) { lines.fail(what); }),
        line_of_person_(people.size()) {}

  std::optional<std::size_t> find(const SampleId& id) {
    const auto found = index_.find(id, fail_);
    if (!found) {
      const auto [first, is_new] = line_of_unknown_.emplace(id, lines_.line());
      if (!is_new) fail_for_duplicate(id, first->second);
      return std::nullopt;
    }
    auto& line = line_of_person_[static_cast<std::size_t>(*found)];
    if (line > 0) fail_for_duplicate(id, line);
    line = lines_.line();
    return static_cast<std::size_t>(*found);
  }

 private:
  [[noreturn]] void fail_for_duplicate(const SampleId& id, std::int64_t line) const {
    lines_.fail(fmt::format("expected every person once, found {} also in line {}",
                            in_quotes(id), line));
  }

  const DelimitedLines& lines_;
  SampleIndex index_;
  SampleIndex::Fail fail_;
  std::vector<std::int64_t> line_of_person_;
  std::unordered_map<SampleId, std::int64_t> line_of_unknown_;
};

/// Reads all rows into the columns and counts them.
void read_rows(DelimitedLines& lines, const IdColumns& ids,
               const std::vector<Person>& people, std::vector<Column>& columns,
               PeopleTable& table) {
  RowMatcher matcher(people, lines);
  std::optional<SampleId> first;
  while (lines.next()) {
    ++table.rows;
    const SampleId id = ids.of(lines);
    if (!first) first = id;
    const auto person = matcher.find(id);
    if (!person) {
      ++table.unknown;
      continue;
    }
    table.has_row[*person] = 1;
    for (Column& column : columns) column.take(*person, lines);
  }
  if (table.rows == 0) lines.fail("expected rows after the header, found none");
  if (table.unknown < table.rows) return;
  throw InputError(fmt::format(
      "{}: expected people of the .fam, found none: the first id here is {}, that of "
      "the .fam {}; FID and IID must both be the same, and an FID of 0, or none, "
      "leaves it to the IID",
      table.source, in_quotes(*first), in_quotes(people.front().id)));
}

std::unordered_set<std::string> asked_categories(const PeopleTableRequest& request,
                                                 const ColumnNames& names,
                                                 const std::vector<Column>& columns,
                                                 const DelimitedLines& lines) {
  std::unordered_set<std::string> asked;
  if (request.categories.empty()) return asked;
  for (const std::size_t place : names.chosen(request.categories)) {
    const std::string& name = lines.header()[place];
    if (std::none_of(columns.begin(), columns.end(),
                     [&](const Column& column) { return column.name() == name; })) {
      throw InputError(
          fmt::format("--cat-covar: expected covariates of --covar-name, found {}",
                      in_quotes(name)));
    }
    asked.insert(name);
  }
  return asked;
}

void add_numbers(NamedColumns& columns, const std::string& name,
                 const std::vector<double>& values) {
  columns.names.push_back(name);
  columns.values.insert(columns.values.end(), values.begin(), values.end());
}

PeopleTable read_columns(DelimitedLines& lines, const PeopleTableRequest& request,
                         const std::vector<Person>& people, const Meaning& meaning) {
  const IdColumns ids(lines);
  const ColumnNames names(lines, ids.count(), meaning);
  std::vector<Column> columns;
  for (const std::size_t place : names.chosen(request.columns)) {
    columns.emplace_back(lines.header()[place], place, people.size(), meaning);
  }
  const auto asked = meaning.may_be_categories
                         ? asked_categories(request, names, columns, lines)
                         : std::unordered_set<std::string>();
  PeopleTable table{.source = lines.source(),
                    .numbers = {},
                    .categories = {},
                    .has_row = std::vector<char>(people.size())};
  read_rows(lines, ids, people, columns, table);
  for (Column& column : columns) {
    const bool is_asked_for = asked.contains(column.name());
    if (is_asked_for || (meaning.may_be_categories && column.has_text())) {
      table.categories.push_back(column.categories(request, is_asked_for, table));
      continue;
    }
    const auto values = column.numbers(request, table);
    if (!meaning.may_be_categories && are_case_codes(values)) {
      table.notes.push_back(
          fmt::format("{}: trait {}: has two values only and is taken as quantitative",
                      table.source, in_quotes(column.name())));
    }
    add_numbers(table.numbers, column.name(), values);
  }
  return table;
}

}  // namespace

PeopleTable read_traits(const PeopleTableRequest& request,
                        const std::vector<Person>& people) {
  DelimitedLines lines(request.path);
  return read_traits(lines, request, people);
}

PeopleTable read_traits(DelimitedLines& lines, const PeopleTableRequest& request,
                        const std::vector<Person>& people) {
  return read_columns(lines, request, people, kTraits);
}

PeopleTable read_covariates(const PeopleTableRequest& request,
                            const std::vector<Person>& people) {
  DelimitedLines lines(request.path);
  return read_covariates(lines, request, people);
}

PeopleTable read_covariates(DelimitedLines& lines, const PeopleTableRequest& request,
                            const std::vector<Person>& people) {
  return read_columns(lines, request, people, kCovariates);
}

}  // namespace kinflow
