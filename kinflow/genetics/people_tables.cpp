// Rows of tables put in the places of their people, column by column.
#include "kinflow/genetics/people_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/sample_index.h"
#include "kinflow/data/suggest.h"
#include "kinflow/genetics/people_table_header.h"

namespace kinflow {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kNamedBadColumns = 5;

constexpr ColumnMeaning kTraits{"trait", "--pheno-name", false};
constexpr ColumnMeaning kCovariates{"covariate", "--covar-name", true};

bool is_minus_nine(std::string_view cell) {
  double value = 0;
  return read_number(cell, value) == CellKind::number && value == kMinusNine;
}

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
         const ColumnMeaning& meaning)
      : name_(std::move(name)),
        place_(place),
        meaning_(meaning),
        values_(people, kMissing),
        labels_(meaning.may_be_categories ? people : 0) {}

  const std::string& name() const { return name_; }

  /// Takes the cell of a person.
  void take(std::size_t person, const DelimitedLines& lines) {
    const std::string& cell = lines.cells()[place_];
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

  /// The first cell that is no number; none where `.line` is 0.
  const Occurrence& bad_cell() const { return text_ ? text_ : infinite_; }

  /// The column as numbers, which it must have been found to be.
  std::vector<double> numbers(const PeopleTableRequest& request, PeopleTable& table) {
    const std::string& source = table.source;
    if (!minus_nine_ || request.minus_nine == MinusNine::value) return take_values();
    const bool is_careful = request.minus_nine == MinusNine::careful;
    if (is_careful && (near_minus_nine_ || minus_nine_is_plainly_a_value(values_))) {
      fail(source, minus_nine_,
           fmt::format("expected -9 either as a missing value or as a number, found it "
                       "{}; {}",
                       near_minus_nine_ ? fmt::format("beside {} in line {}",
                                                      in_quotes(near_minus_nine_.cell),
                                                      near_minus_nine_.line)
                                        : "among values below it",
                       kMinusNineDecides));
    }
    std::replace(values_.begin(), values_.end(), kMinusNine, kMissing);
    table.notes.push_back(fmt::format("{}: {} {}: {} of -9 taken as missing", source,
                                      meaning_.column, in_quotes(name_),
                                      counted(minus_nines_, "value")));
    return take_values();
  }

  /// The column as labels.
  CategoryColumn categories(const PeopleTableRequest& request, bool is_asked_for,
                            PeopleTable& table) {
    std::set<std::string_view> different;
    for (std::string& label : labels_) {
      if (request.minus_nine != MinusNine::value && is_minus_nine(label)) label.clear();
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
    table.notes.push_back(fmt::format("{}: {} {}: taken as categories, {}",
                                      table.source, meaning_.column, in_quotes(name_),
                                      counted(count, "label")));
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
  const ColumnMeaning& meaning_;
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

/// InputError that names all columns of numbers with a cell that is none.
void check_numbers(const std::vector<Column>& columns,
                   const std::unordered_set<std::string>& asked_categories,
                   const PeopleTableRequest& request, const ColumnMeaning& meaning,
                   const std::string& source) {
  std::string first;
  std::vector<std::string> others;
  for (const Column& column : columns) {
    const bool is_category = asked_categories.contains(column.name()) ||
                             (meaning.may_be_categories && column.has_text());
    const auto& bad = column.bad_cell();
    if (is_category || !bad) continue;
    if (first.empty()) {
      first = fmt::format("{}:{}: column {}: expected a number, found {}", source,
                          bad.line, in_quotes(column.name()), in_quotes(bad.cell));
    } else {
      others.push_back(fmt::format("{} ({} in line {})", in_quotes(column.name()),
                                   in_quotes(bad.cell), bad.line));
    }
  }
  if (first.empty()) return;
  if (!others.empty()) first += "; also " + listed(others, kNamedBadColumns);
  if (request.columns.empty()) {
    first += fmt::format("; {} chooses columns", meaning.name_option);
  }
  throw InputError(first);
}

PeopleTable read_columns(DelimitedLines& lines, const PeopleTableRequest& request,
                         const std::vector<Person>& people,
                         const ColumnMeaning& meaning) {
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
  check_numbers(columns, asked, request, meaning, table.source);
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
