// kinflow reproduce stocks by the real binary, on a few days of invented prices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "kinflow/core/random.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

constexpr int kDays = 40;
const std::array<std::string, 4> kTickers = {"AAPL", "MSFT", "MA", "V"};

std::string date_of(int day) {
  return fmt::format("2024-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
}

// The same prices as a folder of files and as one table. The last two tickers begin
// some days later than the others.
struct Prices {
  explicit Prices(const TemporaryFolder& folder)
      : files(folder.path("prices")), table(folder.path("prices.csv")) {
    std::filesystem::create_directory(files);
    Random random(5);
    std::array<double, 4> price = {1, 2, 3, 4};
    std::array<std::string, 4> texts;
    texts.fill("Date,Close\n");
    std::ofstream all(table);
    all << "Date,AAPL,MSFT,MA,V\n";
    for (int day = 0; day < kDays; ++day) {
      const double market = 0.01 * random.normal();
      all << date_of(day);
      for (std::size_t i = 0; i < price.size(); ++i) {
        price[i] *= std::exp(market + 0.01 * random.normal());
        all << ',';
        if (i >= 2 && day < 10) continue;
        all << fmt::format("{:.6f}", price[i]);
        texts[i] += fmt::format("{},{:.6f}\n", date_of(day), price[i]);
      }
      all << '\n';
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::ofstream(files + "/" + kTickers[i] + ".csv") << texts[i];
    }
  }

  const std::string files, table;
};

Arguments stocks(const Arguments& more) {
  return Arguments{"reproduce", "stocks", "--quick", "--threads", "1"} + more;
}

// The part of a report that no clock decides.
std::string without_first_lines(const std::string& report) {
  return report.substr(report.find("Left out"));
}

TEST(ReproduceStocks, BeginsAnewWhereItIsAskedTo) {
  const TemporaryFolder folder;
  const Prices prices(folder);
  const auto out = folder.path("study");
  const auto study = [&](const std::string& pairs, const Arguments& more = {}) {
    return stocks({"--seeds", "1", "--prices", prices.table, "--pairs", pairs, "--out",
                   out}) +
           more;
  };
  run_well(study("AAPL-MSFT"));
  folder.write("study/notes.txt", "mine\n");
  folder.write("study/sets/old.json", "{}\n");
  expect_refusal(folder, study("MA-V"), {out, "expected a new folder or this study"});
  const auto report = run_well(study("MA-V", kOverwrite));
  EXPECT_NE(report.find("MA-V"), std::string::npos) << report;
  EXPECT_EQ(content_of(out + "/stocks.md"), as_section("stocks", report));
  EXPECT_EQ(content_of(out + "/notes.txt"), "mine\n");
  EXPECT_FALSE(std::filesystem::exists(out + "/sets/old.json"));
}

TEST(ReproduceStocks, ReportsScoresTestsAndTheCutsInTime) {
  const TemporaryFolder folder;
  const Prices prices(folder);
  const auto out = folder.path("study");
  const auto report =
      run_well(stocks({"--seeds", "2", "--data", prices.files, "--out", out}));
  for (const auto* text :
       {"## Stock data pairs", "2 seeds", "AAPL-MSFT", "MA-V", "2024-01-02",
        "2024-02-12", "| paper: grid", "-5.720", "| ours: grid (pairs), scaled",
        "| kinflow: `--group pair`, default", "difference (nats)"}) {
    EXPECT_NE(report.find(text), std::string::npos) << text << "\n" << report;
  }
  EXPECT_EQ(content_of(out + "/stocks.md"), as_section("stocks", report));
  const auto scores = content_of(out + "/scores.csv");
  EXPECT_NE(scores.find("stocks-4001,\"pair: default, mixture of 4\",8,"),
            std::string::npos)
      << scores;
  const auto rows = content_of(out + "/data/train.csv");
  EXPECT_EQ(rows.substr(0, rows.find('\n')), "return1,return2,pair,date,day");
  run_well(Arguments{"fit", out + "/data/train.csv", "--valid", out + "/data/valid.csv",
                     "--columns", "return1,return2", "--group", "pair", "--out",
                     folder.path("run")} +
           small_fit({}, "1"));

  // A finished study is not run again, and other prices are another study.
  const auto again =
      run_well(stocks({"--seeds", "2", "--prices", prices.table, "--out", out}));
  EXPECT_EQ(without_first_lines(again), without_first_lines(report));
  expect_refusal(folder,
                 stocks({"--seeds", "2", "--data", prices.files, "--pairs",
                         "AAPL-MA,MSFT-V", "--out", out}),
                 {"'pairs'", "AAPL-MA"});
}

TEST(ReproduceStocks, RefusesPricesThatAreNotThereOrNotClear) {
  const TemporaryFolder folder;
  const Prices prices(folder);
  const Arguments out = {"--out", folder.path("study")};
  expect_refusal(folder, stocks(out), {"--data", "--prices", "neither"});
  expect_refusal(
      folder, stocks(out + Arguments{"--data", prices.files, "--prices", prices.table}),
      {"--data", "--prices", "both"});
  expect_refusal(folder,
                 stocks(out + Arguments{"--data", prices.files, "--pairs", "AAPL"}),
                 {"AAPL"});
  expect_refusal(folder,
                 stocks(out + Arguments{"--data", prices.files, "--pairs", "AAPL-IBM"}),
                 {"IBM"});
  expect_refusal(folder, stocks(out + Arguments{"--data", folder.path("none")}),
                 {"none"});
  expect_refusal(folder, stocks(out + Arguments{"--prices", folder.path("none.csv")}),
                 {"none.csv"});
  const auto table = folder.write("flat.csv",
                                  "Date,AAPL,MSFT\n2024-01-01,1,5\n2024-01-02,2,5\n"
                                  "2024-01-03,1,5\n2024-01-04,3,5\n2024-01-05,2,5\n"
                                  "2024-01-08,1,6\n2024-01-09,3,5\n");
  expect_refusal(folder,
                 stocks(out + Arguments{"--prices", table, "--pairs", "AAPL-MSFT"}),
                 {"flat.csv", "second of AAPL-MSFT", "same price"});
}

TEST(ReproduceTeaser, TakesNoFolderOfOthers) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("mine/data"));
  folder.write("mine/data/train.csv", "my,own\n");
  for (const Arguments& verb : {Arguments{"demo"}, Arguments{"reproduce", "teaser"}}) {
    expect_refusal(folder, verb + Arguments{"--out", folder.path("mine")},
                   {"mine", "new or empty folder", "data"});
  }
}

}  // namespace
}  // namespace kinflow::cli
