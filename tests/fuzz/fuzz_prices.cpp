// Fuzzes the readers of stock prices: any bytes give finite returns in time order or an
// InputError of one line.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/data/prices.h"

namespace {

using namespace kinflow;
using fuzzed::require;

const std::vector<TickerPair> kPairs = {{"A", "B"}};

void check_prices(const std::vector<PriceSeries>& series) {
  require(series.size() == 2);
  for (const auto& one : series) {
    require(one.days.size() == one.closes.size());
    require(std::is_sorted(one.days.begin(), one.days.end(), std::less_equal<>()));
    for (const double close : one.closes) require(std::isfinite(close) && close > 0);
  }
  const auto returns = pair_returns(series, kPairs);
  require(std::ssize(returns.returns) == 2 * returns.rows() && returns.rows() >= 2);
  require(std::ssize(returns.date_of_row) == returns.rows());
  for (const double value : returns.returns) require(std::isfinite(value));
  const auto parts = split_in_time(returns);
  require(std::ssize(parts.train) + std::ssize(parts.valid) + std::ssize(parts.test) ==
          returns.rows());
}

void check_pairs(const std::string& text) {
  for (const auto& pair : parse_pairs(text)) {
    require(!pair.first.empty() && !pair.second.empty() && pair.first != pair.second);
    require(parse_pairs(pair.label()) == std::vector<TickerPair>{pair});
  }
}

}  // namespace

/// The first byte chooses between a table of both tickers, a file for each, and pairs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  fuzzed::Input input(data, size);
  const auto choice = input.choice() % 3;
  return fuzzed::answer_or_input_error([&] {
    if (choice == 0) {
      check_prices(read_price_table(folder.write("prices.csv", input.rest()), kPairs));
    } else if (choice == 1) {
      folder.write("a.csv", input.file());
      folder.write("B.us.txt", input.file());
      check_prices(read_price_folder(folder.path(""), kPairs));
    } else {
      check_pairs(input.rest());
    }
  });
}
