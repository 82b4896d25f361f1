// Association studies that are interrupted or killed, and go on.
#include <chrono>
#include <functional>
#include <thread>

#include "gwas_cohort.h"

namespace kinflow::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A cohort whose scan takes a while.
class GwasThatStops : public Gwas {
 protected:
  Arguments slow_scan(const std::string& out) const {
    return cohort_.gwas(
        path(out), "trait1,trait2,trait3",
        kPlain + cohort_.covariates() +
            Arguments{"--test", "wald", "--single", "--loco", "--threads", "1"});
  }
  Arguments slow_flow(const std::string& out) const {
    return cohort_.gwas(path(out), "trait1,trait2",
                        small_flow("400") + Arguments{"--threads", "1"});
  }

  /// Starts a run, ends it by `end` once `reached`, and lets the same command go on.
  /// A run that was at its end before that, as on a busy machine, is started again.
  /// True where one was ended in the middle.
  bool stop_and_go_on(const Arguments& arguments, const std::string& out,
                      const std::function<bool()>& reached,
                      const std::function<void(Process&)>& end) const {
    bool was_stopped = false;
    for (int run = 0; run < 10 && !was_stopped; ++run) {
      for (const auto& entry : fs::directory_iterator(folder_.path())) {
        if (entry.path().filename().string().starts_with(out + ".")) {
          fs::remove_all(entry.path());
        }
      }
      Process process(arguments, path("out"), path("err"));
      while (process.is_running() && !reached()) std::this_thread::sleep_for(1ms);
      end(process);
      process.wait();
      was_stopped = !fs::exists(path(out + ".assoc.tsv"));
    }
    run_well(arguments);
    return was_stopped;
  }

  void expect_same_results(const std::string& one, const std::string& other) const {
    auto left = results(folder_, one), right = results(folder_, other);
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [ending, content] : left) {
      if (ending == ".model") continue;
      ASSERT_TRUE(right.contains(ending)) << ending;
      EXPECT_TRUE(content == right.at(ending)) << ending;
    }
    EXPECT_FALSE(fs::exists(path(one + ".partial")));
  }
};

TEST_F(GwasThatStops, TheScanGoesOn) {
  run_well(slow_scan("whole"));
  for (const std::string way : {"killed", "interrupted"}) {
    SCOPED_TRACE(way);
    const auto has_rows = [&] {
      return lines_in(path(way + ".partial/rows1.tsv")) > 0;
    };
    EXPECT_TRUE(stop_and_go_on(slow_scan(way), way, has_rows, [&](Process& process) {
      if (way == "killed") process.kill();
      process.interrupt();
    }));
    expect_same_results(way, "whole");
    EXPECT_NE(content_of(path(way + ".log")).find("going on after"), std::string::npos);
  }
}

TEST_F(GwasThatStops, AnInterruptedRunSaysSo) {
  Process process(slow_scan("a"), path("out"), path("err"));
  while (process.is_running() && lines_in(path("a.partial/rows1.tsv")) == 0) {
    std::this_thread::sleep_for(1ms);
  }
  process.interrupt();
  EXPECT_EQ(process.wait(), 130);
  EXPECT_NE(content_of(path("err")).find("the same command goes on"),
            std::string::npos);
  EXPECT_NE(content_of(path("a.log")).find("Stopped"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("a.assoc.tsv")));
}

TEST_F(GwasThatStops, TheFlowGoesOn) {
  run_well(slow_flow("whole"));
  for (const std::string way : {"killed", "interrupted"}) {
    SCOPED_TRACE(way);
    const auto trains = [&] { return lines_in(path(way + ".model/metrics.csv")) > 2; };
    EXPECT_TRUE(stop_and_go_on(slow_flow(way), way, trains, [&](Process& process) {
      if (way == "killed") process.kill();
      process.interrupt();
    }));
    EXPECT_TRUE(content_of(path(way + ".assoc.tsv")) ==
                content_of(path("whole.assoc.tsv")));
    EXPECT_TRUE(content_of(path(way + ".pheno")) == content_of(path("whole.pheno")));
    EXPECT_FALSE(fs::exists(path(way + ".partial")));
  }
}

TEST_F(GwasThatStops, OtherRequestsDoNotTakeItsResults) {
  run_well(slow_scan("whole"));
  {
    Process process(
        cohort_.gwas(path("a"), "trait1,trait2,trait4",
                     kPlain + Arguments{"--test", "wald", "--loco", "--threads", "1"}),
        path("out"), path("err"));
    while (process.is_running() && lines_in(path("a.partial/rows1.tsv")) == 0) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(process.is_running());
  }
  expect_refusal(folder_, slow_scan("a"),
                 {path("a.partial"), "other files or options", "--overwrite"});
  run_well(slow_scan("a") + kOverwrite);
  EXPECT_EQ(content_of(path("a.log")).find("going on after"), std::string::npos);
  expect_same_results("a", "whole");
}

TEST_F(GwasThatStops, ARepeatedRunGivesTheSameBytes) {
  for (const std::string name : {"a", "b"}) {
    run_well(cohort_.gwas(path(name), "trait1,trait2", small_flow()));
  }
  expect_same_results("a", "b");
  // Also in the place of the first one, which is left alone unless that is said.
  const auto again = cohort_.gwas(path("a"), "trait1,trait2", small_flow());
  expect_refusal(folder_, again, {path("a.assoc.tsv"), "--overwrite"});
  run_well(again + kOverwrite);
  expect_same_results("a", "b");
}

}  // namespace
}  // namespace kinflow::cli
