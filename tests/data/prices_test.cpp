// Prices: the returns of the paper's example, days of pairs, parts in time, mistakes.
#include "kinflow/data/prices.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/data/table.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Counts = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

const std::vector<TickerPair> kAB = {{.first = "A", .second = "B"}};
const std::string kThreeDays = "Date,Close\n2020-01-01,1\n2020-01-02,2\n2020-01-03,4\n";

/// The message of a folder whose ticker A has the given file.
std::string error_of_file(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", bytes);
  folder.write("b.csv", kThreeDays);
  const std::string message =
      input_error_of([&] { read_price_folder(folder.path(), kAB); });
  EXPECT_TRUE(message.starts_with(path)) << message;
  return message.substr(std::min(message.size(), path.size()));
}

/// The message of a table of prices after the path.
std::string error_of_table(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("prices.csv", bytes);
  const std::string message =
      input_error_of([&] { pair_returns(read_price_table(path, kAB), kAB); });
  EXPECT_TRUE(message.starts_with(path)) << message;
  return message.substr(std::min(message.size(), path.size()));
}

PairReturns returns_of_table(const std::string& bytes, const std::string& pairs) {
  const TemporaryFolder folder;
  const std::string path = folder.write("prices.csv", bytes);
  return pair_returns(read_price_table(path, parse_pairs(pairs)), parse_pairs(pairs));
}

/// Returns of the pair A-B on `both + early` days and of C-D on the last `both` days.
PairReturns early_and_late_pair(int early, int both) {
  PriceSeries first{.ticker = "A", .source = "a", .days = {}, .closes = {}};
  for (int day = 0; day <= early + both; ++day) {
    first.days.push_back(day);
    first.closes.push_back(1 + day);
  }
  PriceSeries second = first, third = first;
  second.ticker = "B";
  third.ticker = "C";
  third.days.erase(third.days.begin(), third.days.begin() + early);
  third.closes.erase(third.closes.begin(), third.closes.begin() + early);
  PriceSeries fourth = first;
  fourth.ticker = "D";
  return pair_returns({first, second, third, fourth}, parse_pairs("A-B,C-D"));
}

TEST(ParsePairs, LetterCaseAndBlanksDoNotMatter) {
  EXPECT_EQ(parse_pairs("AAPL-MSFT,MA-V"), paper_pairs());
  EXPECT_EQ(parse_pairs(" aapl - msft , Ma-v "), paper_pairs());
  EXPECT_EQ(paper_pairs()[1].label(), "MA-V");
  EXPECT_EQ(parse_pairs("A-B,A-C").size(), 2u);
}

TEST(ParsePairs, MalformedTextIsRefused) {
  const std::string expected =
      "--pairs: expected two tickers joined by one hyphen, such as AAPL-MSFT, found ";
  for (const std::string text : {"", "A", "A-", "-B", "-", "A-B-C", "A B", " - "}) {
    const std::string message = input_error_of([&] { parse_pairs(text); });
    EXPECT_TRUE(message.starts_with(expected)) << message;
  }
  EXPECT_EQ(input_error_of([] { parse_pairs("A-B,"); }), expected + "''");
  EXPECT_EQ(input_error_of([] { parse_pairs("A-B,,C-D"); }), expected + "''");
  EXPECT_EQ(input_error_of([] { parse_pairs("A-B;C-D"); }), expected + "'A-B;C-D'");
  EXPECT_EQ(input_error_of([] { parse_pairs("A-\x01"); }), expected + "'A-\\x01'");
}

TEST(ParsePairs, TheSameTickerOrPairTwiceIsRefused) {
  EXPECT_EQ(input_error_of([] { parse_pairs("MA-V,v-V"); }),
            "--pairs: expected two different tickers, found 'V' twice in 'v-V'");
  EXPECT_EQ(input_error_of([] { parse_pairs("A-B,C-D,a-b"); }),
            "--pairs: expected different pairs, found 'A-B' and 'A-B'");
  EXPECT_EQ(input_error_of([] { parse_pairs("A-B,B-A"); }),
            "--pairs: expected different pairs, found 'A-B' and 'B-A'");
}

TEST(Prices, TheExampleOfThePaperIsReproduced) {
  const TemporaryFolder folder;
  folder.write("ma.us.txt",
               "Date,Open,High,Low,Close,Volume,stock_id\n"
               "2012-06-20,41.5,41.9,41.2,41.512,8000000,6208\n"
               "2012-06-21,41.5,41.9,40.5,40.737,8000000,6208\n"
               "2012-06-22,41.5,42.2,41.2,42.080,8000000,6208\n");
  folder.write("v.us.txt",
               "Date,Open,High,Low,Close,Volume,stock_id\n"
               "2012-06-20,29.1,29.2,29.0,29.135,9000000,2316\n"
               "2012-06-21,29.1,29.2,28.5,28.661,9000000,2316\n"
               "2012-06-22,29.1,30.0,29.0,29.976,9000000,2316\n");
  const auto pairs = parse_pairs("MA-V");
  const PairReturns rows = pair_returns(read_price_folder(folder.path(), pairs), pairs);
  ASSERT_EQ(rows.rows(), 2);
  EXPECT_EQ(rows.date_of_row[1], "2012-06-22");
  EXPECT_EQ(rows.day_of_row[1], 15513);
  EXPECT_EQ(rows.pair_labels, Texts{"MA-V"});
  EXPECT_NEAR(rows.returns[2], 0.0324, 5e-5);
  EXPECT_NEAR(rows.returns[3], 0.0449, 5e-5);
}

TEST(Prices, FilesAreFoundUnderAllTheirNames) {
  const TemporaryFolder folder;
  folder.write("Aa.US.txt", kThreeDays);
  folder.write("BB.csv", kThreeDays);
  folder.write("cc.TXT", "close\tdate\r\n1\t2020-01-01\r\n3\t2020-01-05\r\n");
  folder.write("dd.csv", "\xef\xbb\xbf\"DATE\",\"CLOSE\"\n\"2020-01-01\",\"7\"\n");
  folder.write("ee.csv.bak", "");
  std::filesystem::create_directory(folder.path("aa.csv"));
  const auto series = read_price_folder(folder.path(), parse_pairs("AA-BB,CC-DD"));
  ASSERT_EQ(series.size(), 4u);
  EXPECT_EQ(series[0].ticker, "AA");
  EXPECT_EQ(series[0].source, folder.path("Aa.US.txt"));
  EXPECT_EQ(series[0].days, (Counts{18262, 18263, 18264}));
  EXPECT_EQ(series[1].closes, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(series[2].days, (Counts{18262, 18266}));
  EXPECT_EQ(series[2].closes, (std::vector<double>{1, 3}));
  EXPECT_EQ(series[3].closes, std::vector<double>{7});
}

TEST(Prices, ATickerInTwoPairsIsReadOnce) {
  const TemporaryFolder folder;
  for (const char* name : {"a.csv", "b.csv", "c.csv"}) folder.write(name, kThreeDays);
  const auto pairs = parse_pairs("A-B,C-A");
  const auto series = read_price_folder(folder.path(), pairs);
  EXPECT_EQ(series.size(), 3u);
  EXPECT_EQ(pair_returns(series, pairs).rows(), 4);
}

TEST(Prices, ATableGivesTheSameAsAFolder) {
  const TemporaryFolder folder;
  folder.write("a.csv", kThreeDays + "2020-01-06,3\n");
  folder.write("b.csv", "Date,Close\n2020-01-02,5\n2020-01-03,6\n2020-01-06,8\n");
  const std::string path =
      folder.write("wide.tsv",
                   "b\tdate\tother\tA\n\t2020-01-01\t?\t1\n5\t2020-01-02\t\t2\n"
                   "6\t2020-01-03\t-1\t4\n8\t2020-01-06\tx\t3\n");
  const auto from_files = pair_returns(read_price_folder(folder.path(), kAB), kAB);
  const auto from_table = pair_returns(read_price_table(path, kAB), kAB);
  EXPECT_EQ(from_table.returns, from_files.returns);
  EXPECT_EQ(from_table.date_of_row, from_files.date_of_row);
  EXPECT_EQ(from_table.rows(), 2);
}

TEST(PairReturns, GoFromOneCommonDayToTheNext) {
  // A has no price on the 3rd, B none before the 2nd and none on the 7th.
  const PairReturns rows = returns_of_table(
      "Date,A,B\n2020-01-01,1,\n2020-01-02,2,10\n2020-01-03,NA,11\n2020-01-06,8,20\n"
      "2020-01-07,9,nan\n2020-01-08,16,5\n",
      "A-B");
  EXPECT_EQ(rows.date_of_row, (Texts{"2020-01-06", "2020-01-08"}));
  ASSERT_EQ(rows.returns.size(), 4u);
  EXPECT_NEAR(rows.returns[0], std::log(4.0), 1e-15);
  EXPECT_NEAR(rows.returns[1], std::log(2.0), 1e-15);
  EXPECT_NEAR(rows.returns[2], std::log(2.0), 1e-15);
  EXPECT_NEAR(rows.returns[3], -std::log(4.0), 1e-15);
}

TEST(PairReturns, RowsOfAllPairsAreInTimeOrder) {
  const PairReturns rows = returns_of_table(
      "Date,A,B,C\n1969-12-30,,1,1\n1969-12-31,,1,2\n1970-01-01,1,1,2\n"
      "1970-01-02,1,1,2\n1970-01-03,1,1,2\n",
      "A-B,B-C");
  EXPECT_EQ(rows.pair_labels, (Texts{"A-B", "B-C"}));
  EXPECT_EQ(rows.day_of_row, (Counts{-1, 0, 1, 1, 2, 2}));
  EXPECT_EQ(rows.pair_of_row, (Counts{1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(rows.date_of_row[0], "1969-12-31");
}

TEST(PairReturns, AreFiniteForTheLargestAndSmallestPrices) {
  const PairReturns rows = returns_of_table(
      "Date,A,B\n2020-01-01,1e308,5e-324\n2020-01-02,5e-324,1e308\n2020-01-03,1,1\n",
      "A-B");
  for (const double value : rows.returns) EXPECT_TRUE(std::isfinite(value)) << value;
}

TEST(PairReturns, AreZeroWhereAPriceStays) {
  const PairReturns rows = returns_of_table(
      "Date,A,B\n2020-01-01,0.07533,3\n2020-01-02,0.07533,3\n2020-01-03,0.07533,3\n",
      "A-B");
  EXPECT_EQ(rows.returns, std::vector<double>(4, 0.0));
}

TEST(SplitInTime, FractionsAreOfAllRowsSoThatLatePairsAreEquallyHeldOut) {
  // 100 days of A-B alone, then 100 days of both: 300 rows, of which 45 are 22.5 days.
  const PairReturns rows = early_and_late_pair(100, 100);
  ASSERT_EQ(rows.rows(), 300);
  const Split parts = split_in_time(rows);
  const Counts valid = rows_of_pairs(rows, parts.valid);
  const Counts test = rows_of_pairs(rows, parts.test);
  EXPECT_EQ(valid[0], valid[1]);
  EXPECT_EQ(test[0], test[1]);
  EXPECT_NEAR(static_cast<double>(parts.valid.size()), 45, 2);
  EXPECT_NEAR(static_cast<double>(parts.test.size()), 45, 2);
  const Counts train = rows_of_pairs(rows, parts.train);
  EXPECT_EQ(train[0] - train[1], 100);
}

TEST(SplitInTime, ADayIsInOnePartAndPartsFollowEachOther) {
  for (int early = 0; early < 30; ++early) {
    const PairReturns rows = early_and_late_pair(early, 23);
    const Split parts = split_in_time(rows);
    const auto day = [&](std::int64_t row) {
      return rows.day_of_row[static_cast<std::size_t>(row)];
    };
    EXPECT_LT(day(parts.train.back()), day(parts.valid.front())) << early;
    EXPECT_LT(day(parts.valid.back()), day(parts.test.front())) << early;
    EXPECT_EQ(parts.train.size() + parts.valid.size() + parts.test.size(),
              static_cast<std::size_t>(rows.rows()));
  }
}

TEST(SplitInTime, PartsThatCannotBeAreRefused) {
  const PairReturns rows = early_and_late_pair(5, 5);
  EXPECT_EQ(
      input_error_of([&] { split_in_time(rows, 0, 0.15); }),
      "[split] expected fractions above 0, received 0 for validation and 0.15 for "
      "test");
  input_error_of([&] { split_in_time(rows, 0.5, 0.5); });
  input_error_of([&] { split_in_time(rows, 0.1, NAN); });
  EXPECT_EQ(
      input_error_of([] { split_in_time(early_and_late_pair(0, 2)); }),
      "prices: expected returns of at least 3 days, which need prices of 4, found 2");
}

TEST(WriteReturns, ReadBack) {
  const TemporaryFolder folder;
  const PairReturns rows = early_and_late_pair(10, 20);
  const Split parts = split_in_time(rows);
  write_returns(folder.path("deep/folder"), rows, parts);
  std::vector<double> values, days;
  Texts pairs, dates;
  for (const char* name : {"train.csv", "valid.csv", "test.csv"}) {
    const Table table = read_table(folder.path("deep/folder/") + name);
    EXPECT_EQ(table.names(), (Texts{"return1", "return2", "pair", "date", "day"}));
    for (const double value : numeric_matrix(table, {"return1", "return2"}).values) {
      values.push_back(value);
    }
    for (const double day : numeric_matrix(table, {"day"}).values) days.push_back(day);
    for (const auto& label : labels(table, "pair")) pairs.push_back(label);
    for (const auto& date : labels(table, "date")) dates.push_back(date);
  }
  EXPECT_EQ(values, rows.returns);
  EXPECT_EQ(days, std::vector<double>(rows.day_of_row.begin(), rows.day_of_row.end()));
  EXPECT_EQ(dates, rows.date_of_row);
  EXPECT_EQ(pairs.front(), "A-B");
  EXPECT_EQ(pairs.back(), "C-D");
}

TEST(WriteReturns, AFolderThatCannotBeMadeIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  const PairReturns rows = early_and_late_pair(10, 20);
  EXPECT_EQ(input_error_of([&] { write_returns(file, rows, split_in_time(rows)); }),
            file + ": cannot make the folder (Not a directory)");
}

TEST(PriceFolder, AMissingFileNamesThoseFound) {
  const TemporaryFolder folder;
  const auto error = [&] {
    return input_error_of([&] { read_price_folder(folder.path(), paper_pairs()); });
  };
  const std::string expected =
      ": expected one file of 'AAPL' (aapl.us.txt, aapl.csv, "
      "aapl.txt), found ";
  EXPECT_EQ(error(), folder.path() + expected + "none");
  folder.write("readme.md", "");
  folder.write("v.us.txt", kThreeDays);
  folder.write("MSFT.csv", kThreeDays);
  EXPECT_EQ(error(), folder.path() + expected + "'MSFT.csv', 'v.us.txt'");
  for (int i = 10; i < 40; ++i) folder.write(std::to_string(i) + ".csv", "");
  EXPECT_TRUE(error().ends_with("'28.csv', '29.csv', ... (32 in all)")) << error();
}

TEST(PriceFolder, TwoFilesOfATickerAreRefused) {
  const TemporaryFolder folder;
  folder.write("a.csv", kThreeDays);
  folder.write("A.txt", kThreeDays);
  folder.write("b.csv", kThreeDays);
  EXPECT_EQ(input_error_of([&] { read_price_folder(folder.path(), kAB); }),
            folder.path() +
                ": expected one file of 'A' (a.us.txt, a.csv, a.txt), found 'A.txt', "
                "'a.csv'");
}

TEST(PriceFolder, AFolderThatIsNoneIsRefused) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("missing");
  EXPECT_EQ(input_error_of([&] { read_price_folder(missing, kAB); }),
            missing + ": cannot read the folder (No such file or directory)");
  const std::string file = folder.write("file", "");
  EXPECT_EQ(input_error_of([&] { read_price_folder(file, kAB); }),
            file + ": cannot read the folder (Not a directory)");
}

TEST(PriceFile, AMissingColumnIsRefused) {
  EXPECT_EQ(error_of_file("Day,Close\n2020-01-01,1\n"),
            ": no column 'Date'; there are Day, Close");
  EXPECT_EQ(error_of_file("Date,Adj Close\n2020-01-01,1\n"),
            ": no column 'Close'; there are Date, Adj Close");
  EXPECT_EQ(error_of_file("Date,Close,close\n2020-01-01,1,2\n"),
            ": expected one column 'Close', found 'Close' and 'close'");
}

TEST(PriceFile, DatesMustBeDaysThatExist) {
  for (const std::string date :
       {"2023-02-29", "2020-13-01", "2020-00-10", "2020-1-1", "01/02/2020", "20200102",
        "2020-01-02 10:00", "2020-01-02T00:00Z", "yesterday", "", "NA", "18262"}) {
    EXPECT_EQ(
        error_of_file("Date,Close\n2020-01-01,1\n" + date + ",1\n"),
        ":3: column 'Date': expected a date such as 2024-03-31, found '" + date + "'");
  }
}

TEST(PriceFile, DatesMustIncrease) {
  const std::string expected =
      ":3: column 'Date': expected a date after 2020-01-02 of the row before, found ";
  EXPECT_EQ(error_of_file("Date,Close\n2020-01-02,1\n2020-01-02,1\n"),
            expected + "'2020-01-02'");
  EXPECT_EQ(error_of_file("Date,Close\n2020-01-02,1\n2019-12-31,1\n"),
            expected + "'2019-12-31'");
}

TEST(PriceFile, PricesMustBeFiniteAndAboveZero) {
  for (const std::string price : {"0", "-3", "-0.0", "inf", "1e999", "1e-999", "nan",
                                  "", "null", "1.2.3", "$5"}) {
    EXPECT_EQ(
        error_of_file("Date,Close\n2020-01-01,1\n2020-01-02," + price + "\n"),
        ":3: column 'Close': expected a finite price above 0, found '" + price + "'");
  }
}

TEST(PriceFile, WhatIsNoTableIsRefused) {
  EXPECT_EQ(error_of_file(""), ": the file is empty");
  EXPECT_EQ(error_of_file("Date,Close\n"),
            ":1: expected rows after the header, found none");
  EXPECT_EQ(error_of_file("Date,Close\n2020-01-01\n"),
            ":2: expected 2 cells as in the header, found 1");
}

TEST(PriceTable, MistakesAreRefused) {
  EXPECT_EQ(error_of_table("A,B\n1,2\n"), ": no column 'Date'; there are A, B");
  EXPECT_EQ(error_of_table("Date,A,C\n2020-01-01,1,2\n"),
            ": no column 'B'; there are Date, A, C");
  EXPECT_EQ(error_of_table("Date,A,B,b\n2020-01-01,1,2,3\n"),
            ": expected one column 'B', found 'B' and 'b'");
  EXPECT_EQ(error_of_table("Date,A,B\n2020-01-01,1,\n2020-01-02,1,-2\n"),
            ":3: column 'B': expected a finite price above 0, found '-2'");
  EXPECT_EQ(error_of_table("Date,A,B\n2020-01-01,1,\n2020-01-01,1,2\n"),
            ":3: column 'Date': expected a date after 2020-01-01 of the row before, "
            "found '2020-01-01'");
  EXPECT_EQ(
      error_of_table("Date,A,B\n2020-01-01,1,\n2020-01-02,1,2\n2020-01-03,1,2\n"),
      ": pair 'A-B': expected at least 3 days on which both have prices, found 2");
}

TEST(PairReturns, TooFewCommonDaysNameBothFiles) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", kThreeDays);
  const std::string b =
      folder.write("b.csv", "Date,Close\n2020-01-03,1\n2021-01-02,2\n");
  EXPECT_EQ(
      input_error_of([&] { pair_returns(read_price_folder(folder.path(), kAB), kAB); }),
      a + ", " + b +
          ": pair 'A-B': expected at least 3 days on which both have prices, found 1");
}

}  // namespace
}  // namespace kinflow
