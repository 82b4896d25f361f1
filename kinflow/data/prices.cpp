// Reading price files, joining the days of two tickers, writing the parts.
#include "kinflow/data/prices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/table.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/data/write_table.h"

namespace kinflow {
namespace {

constexpr std::size_t kFewestDays = 3;
/// What follows the ticker in the name of its file.
constexpr std::array<std::string_view, 3> kFileEndings = {".us.txt", ".csv", ".txt"};

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

std::string_view without_blanks_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string date_text(std::int64_t day) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(day)))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

TickerPair parse_pair(std::string_view text) {
  const std::size_t hyphen = text.find('-');
  const auto ticker = [&](std::size_t first, std::size_t count) {
    return upper_case(without_blanks_around(text.substr(first, count)));
  };
  TickerPair pair;
  if (hyphen != std::string_view::npos) {
    pair = {.first = ticker(0, hyphen), .second = ticker(hyphen + 1, text.npos)};
  }
  if (pair.first.empty() || pair.second.empty() ||
      pair.second.find('-') != std::string::npos || !is_printable_utf8(text)) {
    throw InputError(
        fmt::format("--pairs: expected two tickers joined by one hyphen, such as "
                    "AAPL-MSFT, found {}",
                    in_quotes(text)));
  }
  if (pair.first == pair.second) {
    throw InputError(
        fmt::format("--pairs: expected two different tickers, found {} twice in {}",
                    in_quotes(pair.first), in_quotes(text)));
  }
  return pair;
}

/// Every ticker of the pairs once, in the order of first appearance.
std::vector<std::string> tickers_of(const std::vector<TickerPair>& pairs) {
  std::vector<std::string> tickers;
  for (const TickerPair& pair : pairs) {
    for (const std::string& ticker : {pair.first, pair.second}) {
      if (std::find(tickers.begin(), tickers.end(), ticker) == tickers.end()) {
        tickers.push_back(ticker);
      }
    }
  }
  return tickers;
}

Table read_text_table(const std::string& path) {
  const std::string bytes = read_whole_file(path);
  const bool has_tab = bytes.substr(0, bytes.find('\n')).find('\t') != bytes.npos;
  return parse_table(bytes, path, has_tab ? TableFormat::tsv : TableFormat::csv);
}

/// The column with a name in any letter case; throws InputError where there is none or
/// more than one.
std::string find_column(const Table& table, const std::string& name) {
  std::optional<std::string> found;
  for (const std::string& column : table.names()) {
    if (lower_case(column) != lower_case(name)) continue;
    if (found) {
      throw InputError(fmt::format("{}: expected one column {}, found {} and {}",
                                   table.source(), in_quotes(name), in_quotes(*found),
                                   in_quotes(column)));
    }
    found = column;
  }
  // Lists the columns there are.
  if (!found) table.column_index(name);
  return *found;
}

[[noreturn]] void fail_at(const Table& table, std::size_t row,
                          const std::string& column, const std::string& expected,
                          const std::string& cell) {
  throw InputError(fmt::format("{}:{}: column {}: expected {}, found {}",
                               table.source(),
                               table.line_of_row(static_cast<std::int64_t>(row)),
                               in_quotes(column), expected, in_quotes(cell)));
}

/// The days of the column Date.
std::vector<std::int64_t> read_days(const Table& table) {
  const std::string column = find_column(table, "Date");
  const std::vector<std::string> cells = cell_texts(table, column);
  std::vector<std::int64_t> days;
  days.reserve(cells.size());
  for (std::size_t row = 0; row < cells.size(); ++row) {
    constexpr std::size_t kDateLength = std::string_view("2024-03-31").size();
    const auto date = read_date(cells[row]);
    if (!date || cells[row].size() != kDateLength) {
      fail_at(table, row, column, "a date such as 2024-03-31", cells[row]);
    }
    const auto day = static_cast<std::int64_t>(*date);
    if (!days.empty() && day <= days.back()) {
      fail_at(table, row, column,
              fmt::format("a date after {} of the row before", date_text(days.back())),
              cells[row]);
    }
    days.push_back(day);
  }
  return days;
}

enum class MissingPrice { refuse, skip };

/// The prices in a column, which has a row for each of the days.
PriceSeries read_prices(const Table& table, const std::vector<std::int64_t>& days,
                        const std::string& column, const std::string& ticker,
                        MissingPrice missing) {
  PriceSeries series{
      .ticker = ticker, .source = table.source(), .days = {}, .closes = {}};
  const std::vector<std::string> cells = cell_texts(table, column);
  for (std::size_t row = 0; row < cells.size(); ++row) {
    double price = 0;
    const CellKind kind = read_number(cells[row], price);
    if (kind == CellKind::missing && missing == MissingPrice::skip) continue;
    if (kind != CellKind::number || price <= 0) {
      fail_at(table, row, column, "a finite price above 0", cells[row]);
    }
    series.days.push_back(days[row]);
    series.closes.push_back(price);
  }
  return series;
}

/// Names of the files of a folder that may hold prices, sorted.
std::vector<std::string> price_files(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    const bool has_ending =
        std::any_of(kFileEndings.begin(), kFileEndings.end(),
                    [&](auto ending) { return lower_case(name).ends_with(ending); });
    if (has_ending && !is_folder) names.push_back(name);
  }
  if (error) {
    throw InputError(
        fmt::format("{}: cannot read the folder ({})", directory, error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  if (names.empty()) return "none";
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    shown.push_back(in_quotes(names[i]));
  }
  if (names.size() > kShown)
    shown.push_back(fmt::format("... ({} in all)", names.size()));
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// Path of the one file of a ticker.
std::string price_file_of(const std::string& ticker, const std::string& directory,
                          const std::vector<std::string>& files) {
  std::vector<std::string> expected, found;
  for (const std::string_view ending : kFileEndings) {
    expected.push_back(lower_case(ticker).append(ending));
  }
  for (const std::string& name : files) {
    if (std::find(expected.begin(), expected.end(), lower_case(name)) !=
        expected.end()) {
      found.push_back(name);
    }
  }
  if (found.size() != 1) {
    throw InputError(fmt::format(
        "{}: expected one file of {} ({}), found {}", directory, in_quotes(ticker),
        fmt::join(expected, ", "), shown_names(found.empty() ? files : found)));
  }
  return (std::filesystem::path(directory) / found[0]).string();
}

const PriceSeries& series_of(const std::string& ticker,
                             const std::vector<PriceSeries>& series) {
  const auto found =
      std::find_if(series.begin(), series.end(),
                   [&](const PriceSeries& one) { return one.ticker == ticker; });
  if (found == series.end()) {
    throw std::logic_error("[prices] expected prices of every ticker of the pairs");
  }
  return *found;
}

/// A day on which both tickers of a pair have a price: its place in either series.
struct CommonDay {
  std::size_t first;
  std::size_t second;
};

std::vector<CommonDay> common_days(const TickerPair& pair, const PriceSeries& first,
                                   const PriceSeries& second) {
  std::vector<CommonDay> common;
  for (std::size_t a = 0, b = 0; a < first.days.size() && b < second.days.size();) {
    if (first.days[a] == second.days[b]) {
      common.push_back({.first = a++, .second = b++});
    } else if (first.days[a] < second.days[b]) {
      ++a;
    } else {
      ++b;
    }
  }
  if (common.size() < kFewestDays) {
    const std::string sources = first.source == second.source
                                    ? first.source
                                    : first.source + ", " + second.source;
    throw InputError(fmt::format(
        "{}: pair {}: expected at least {} days on which both have prices, found {}",
        sources, in_quotes(pair.label()), kFewestDays, common.size()));
  }
  return common;
}

/// A close divided by another may be too large for float64; their logarithms are not.
double log_return(const PriceSeries& series, std::size_t before, std::size_t now) {
  return std::log(series.closes[now]) - std::log(series.closes[before]);
}

void write_part(const std::string& path, const PairReturns& returns,
                const std::vector<std::int64_t>& rows) {
  std::vector<double> values;
  TextColumn pairs{.name = "pair", .cells = {}};
  TextColumn dates{.name = "date", .cells = {}};
  TextColumn days{.name = "day", .cells = {}};
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    values.push_back(returns.returns[2 * i]);
    values.push_back(returns.returns[2 * i + 1]);
    pairs.cells.push_back(
        returns.pair_labels[static_cast<std::size_t>(returns.pair_of_row[i])]);
    dates.cells.push_back(returns.date_of_row[i]);
    days.cells.push_back(std::to_string(returns.day_of_row[i]));
  }
  write_table(path, {"return1", "return2"}, values, {pairs, dates, days});
}

}  // namespace

std::vector<TickerPair> paper_pairs() {
  return {{.first = "AAPL", .second = "MSFT"}, {.first = "MA", .second = "V"}};
}

std::vector<TickerPair> parse_pairs(std::string_view text) {
  std::vector<TickerPair> pairs;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const TickerPair pair =
        parse_pair(without_blanks_around(text.substr(start, comma - start)));
    const TickerPair reversed{.first = pair.second, .second = pair.first};
    for (const TickerPair& other : pairs) {
      if (other != pair && other != reversed) continue;
      throw InputError(fmt::format("--pairs: expected different pairs, found {} and {}",
                                   in_quotes(other.label()), in_quotes(pair.label())));
    }
    pairs.push_back(pair);
    start = comma + 1;
  }
  return pairs;
}

std::vector<PriceSeries> read_price_folder(const std::string& directory,
                                           const std::vector<TickerPair>& pairs) {
  const std::vector<std::string> files = price_files(directory);
  std::vector<PriceSeries> series;
  for (const std::string& ticker : tickers_of(pairs)) {
    const Table table = read_text_table(price_file_of(ticker, directory, files));
    series.push_back(read_prices(table, read_days(table), find_column(table, "Close"),
                                 ticker, MissingPrice::refuse));
  }
  return series;
}

std::vector<PriceSeries> read_price_table(const std::string& path,
                                          const std::vector<TickerPair>& pairs) {
  const Table table = read_text_table(path);
  const std::vector<std::int64_t> days = read_days(table);
  std::vector<PriceSeries> series;
  for (const std::string& ticker : tickers_of(pairs)) {
    series.push_back(read_prices(table, days, find_column(table, ticker), ticker,
                                 MissingPrice::skip));
  }
  return series;
}

PairReturns pair_returns(const std::vector<PriceSeries>& series,
                         const std::vector<TickerPair>& pairs) {
  struct Row {
    std::int64_t day;
    std::int64_t pair;
    double first;
    double second;
  };
  PairReturns result;
  std::vector<Row> rows;
  for (const TickerPair& pair : pairs) {
    const PriceSeries& first = series_of(pair.first, series);
    const PriceSeries& second = series_of(pair.second, series);
    const std::vector<CommonDay> days = common_days(pair, first, second);
    for (std::size_t i = 1; i < days.size(); ++i) {
      rows.push_back(
          {.day = first.days[days[i].first],
           .pair = static_cast<std::int64_t>(result.pair_labels.size()),
           .first = log_return(first, days[i - 1].first, days[i].first),
           .second = log_return(second, days[i - 1].second, days[i].second)});
    }
    result.pair_labels.push_back(pair.label());
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.day < b.day; });
  for (const Row& row : rows) {
    result.returns.push_back(row.first);
    result.returns.push_back(row.second);
    result.pair_of_row.push_back(row.pair);
    result.day_of_row.push_back(row.day);
    result.date_of_row.push_back(date_text(row.day));
  }
  return result;
}

Split split_in_time(const PairReturns& returns, double valid_fraction,
                    double test_fraction) {
  if (!(valid_fraction > 0 && test_fraction > 0)) {
    throw InputError(
        fmt::format("[split] expected fractions above 0, received {} for validation "
                    "and {} for test",
                    valid_fraction, test_fraction));
  }
  const std::set<std::int64_t> days(returns.day_of_row.begin(),
                                    returns.day_of_row.end());
  if (days.size() < 3) {
    throw InputError(fmt::format(
        "prices: expected returns of at least 3 days, which need prices of 4, found {}",
        days.size()));
  }
  return split(returns.rows(),
               {.by = SplitBy::time,
                .valid_fraction = valid_fraction,
                .test_fraction = test_fraction,
                .time_of_row = {returns.day_of_row.begin(), returns.day_of_row.end()}});
}

std::vector<std::int64_t> rows_of_pairs(const PairReturns& returns,
                                        const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> count(returns.pair_labels.size(), 0);
  for (const std::int64_t row : rows) {
    const std::int64_t pair = returns.pair_of_row[static_cast<std::size_t>(row)];
    ++count[static_cast<std::size_t>(pair)];
  }
  return count;
}

void write_returns(const std::string& directory, const PairReturns& returns,
                   const Split& parts) {
  const auto path = [&](const std::string& name) {
    return (std::filesystem::path(directory) / name).string();
  };
  fill_folder(directory, [&] {
    write_part(path("train.csv"), returns, parts.train);
    write_part(path("valid.csv"), returns, parts.valid);
    write_part(path("test.csv"), returns, parts.test);
  });
}

}  // namespace kinflow
