// Closing prices of stocks, and daily log returns of pairs of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/split.h"

namespace kinflow {

/// Two stocks whose returns stand in one row. Tickers are in capitals.
struct TickerPair {
  std::string first;
  std::string second;

  std::string label() const { return first + "-" + second; }
  bool operator==(const TickerPair&) const = default;
};

/// AAPL-MSFT and MA-V, the pairs of the paper.
std::vector<TickerPair> paper_pairs();

/// Pairs such as "AAPL-MSFT,MA-V", in any letter case, with or without blanks. A ticker
/// holds neither '-' nor ','. Throws InputError for anything else, for a pair of one
/// ticker with itself, and for two pairs of the same tickers in either order.
std::vector<TickerPair> parse_pairs(std::string_view text);

/// Closing prices of one ticker on the days on which it has one.
struct PriceSeries {
  std::string ticker;              ///< in capitals
  std::string source;              ///< the file, for messages
  std::vector<std::int64_t> days;  ///< since 1970-01-01, ascending
  std::vector<double> closes;      ///< [days], finite and above 0
};

/// The prices of every ticker of the pairs from the files of a folder, one for each
/// ticker: AAPL.us.txt, AAPL.csv or AAPL.txt, in any letter case, with the columns Date
/// and Close, also in any letter case. Cells are separated by tabs where the header has
/// one, by commas otherwise. Other files and columns are ignored.
///
/// Dates are days that exist, as in 2024-03-31, each after the one before. Throws
/// InputError for any other date, for a price that is missing, not finite or not above
/// 0, for a missing column, and for a ticker without a file or with two.
std::vector<PriceSeries> read_price_folder(const std::string& directory,
                                           const std::vector<TickerPair>& pairs);

/// The same from one table with a column Date and a column for each ticker, named in
/// any letter case. A missing price says that the ticker was not traded on that day.
/// Columns of other tickers are ignored.
std::vector<PriceSeries> read_price_table(const std::string& path,
                                          const std::vector<TickerPair>& pairs);

/// Rows in time order; those of one day in the order of the pairs.
struct PairReturns {
  std::vector<std::string> pair_labels;
  std::vector<double> returns;            ///< [rows x 2], row-major
  std::vector<std::int64_t> pair_of_row;  ///< [rows], positions in pair_labels
  std::vector<std::int64_t> day_of_row;   ///< [rows], since 1970-01-01
  std::vector<std::string> date_of_row;   ///< [rows], such as 2024-03-31

  std::int64_t rows() const { return static_cast<std::int64_t>(day_of_row.size()); }
};

/// A row holds log(close / previous close) of both tickers of a pair. The trading days
/// of a pair are those on which both tickers have a price; the previous close is that
/// of the trading day before, so a pair starts with the second trading day. Throws
/// InputError for a pair with fewer than 3 trading days.
/// @param series  of every ticker of the pairs
PairReturns pair_returns(const std::vector<PriceSeries>& series,
                         const std::vector<TickerPair>& pairs);

/// Cuts the rows of all pairs together at two dates: the latest rows are for test,
/// those before for validation. The fractions, both above 0, are of all rows, not of
/// dates nor of the rows of a pair; a cut is between two days, where the number of rows
/// is nearest to the wanted one. InputError as of split().
Split split_in_time(const PairReturns& returns, double valid_fraction = 0.15,
                    double test_fraction = 0.15);

/// How many of the given rows each pair has, in the order of pair_labels.
std::vector<std::int64_t> rows_of_pairs(const PairReturns& returns,
                                        const std::vector<std::int64_t>& rows);

/// Writes train.csv, valid.csv and test.csv, with the columns return1, return2, pair,
/// date and day, into a folder, which is made where it is missing. InputError where
/// that fails; then no new folder remains.
void write_returns(const std::string& directory, const PairReturns& returns,
                   const Split& parts);

}  // namespace kinflow
