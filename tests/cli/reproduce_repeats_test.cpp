// kinflow reproduce repeats by the real binary, on small invented tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "kinflow/core/random.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

// Patients with two to five visits, and schools of eight pupils.
struct RepeatTables {
  explicit RepeatTables(const TemporaryFolder& folder, std::uint64_t seed = 3)
      : data(folder.path("tables")) {
    std::filesystem::create_directory(data);
    Random random(seed);
    std::string labs = "id,day,bili,albumin,ast,platelet,protime\n";
    for (int patient = 0; patient < 24; ++patient) {
      const double own = random.normal();
      for (int visit = 0; visit < 2 + patient % 4; ++visit) {
        labs += fmt::format("{},{}", patient, 200 * visit);
        for (int lab = 0; lab < 5; ++lab) {
          labs += fmt::format(",{:.5f}", std::exp(own + 0.5 * random.normal()));
        }
        labs += "\n";
      }
    }
    folder.write("tables/pbcseq.csv", labs);
    std::string tests = "School,SES,MathAch,Sex\n";
    for (int school = 0; school < 16; ++school) {
      const double own = random.normal();
      for (int pupil = 0; pupil < 8; ++pupil) {
        tests += fmt::format("{},{:.5f},{:.5f},Male\n", school, random.normal(),
                             own + random.normal());
      }
    }
    folder.write("tables/mathachieve.csv", tests);
  }

  const std::string data;
};

Arguments repeats(const Arguments& more) {
  return Arguments{"reproduce", "repeats", "--quick", "--threads", "1"} + more;
}

TEST(ReproduceRepeats, ReportsScoresAndKeepsWhatIsFinished) {
  const TemporaryFolder folder;
  const RepeatTables tables(folder);
  const auto out = folder.path("study");
  const auto study = repeats({"--splits", "2", "--tables", "mathachieve,pbcseq-logs",
                              "--data", tables.data, "--out", out});
  const auto report = run_well(study);
  for (const auto* text :
       {"## Repeat measurements", "2 seeds from 4000", "| pbcseq, logarithms |",
        "| MathAchieve |", "flow, --independent", "random-intercept normal",
        "mean over the tables", "reached", "chosen by the rows"}) {
    EXPECT_NE(report.find(text), std::string::npos) << text << "\n" << report;
  }
  EXPECT_EQ(content_of(out + "/repeats.md"), as_section("repeats", report));
  const auto scores = content_of(out + "/scores.csv");
  EXPECT_NE(scores.find("mathachieve-4001,\"flow, --group\","), std::string::npos)
      << scores;

  // Trainings that are finished are taken as they are.
  std::filesystem::remove(out + "/sets/mathachieve-4000.json");
  const auto model = out + "/trainings/mathachieve-4000-group/model.safetensors";
  const auto written = std::filesystem::last_write_time(model);
  const auto again = run_well(study);
  EXPECT_EQ(again.substr(again.find("Left out")),
            report.substr(report.find("Left out")));
  EXPECT_EQ(std::filesystem::last_write_time(model), written);
  EXPECT_EQ(content_of(out + "/scores.csv"), scores);

  // Other tables are another study.
  const TemporaryFolder elsewhere;
  const RepeatTables other(elsewhere, 4);
  expect_refusal(folder,
                 repeats({"--splits", "2", "--tables", "mathachieve,pbcseq-logs",
                          "--data", other.data, "--out", out}),
                 {out, "'data'"});
}

TEST(ReproduceRepeats, GoesOnWhereItWasStopped) {
  const TemporaryFolder folder;
  const RepeatTables tables(folder);
  const auto study = [&](const std::string& out) {
    return repeats({"--splits", "8", "--tables", "mathachieve", "--data", tables.data,
                    "--out", folder.path(out)});
  };
  Process process(study("cut"), "/dev/null", folder.path("err"));
  const auto first = folder.path("cut/sets/mathachieve-4000.json");
  while (process.is_running() && !std::filesystem::exists(first)) usleep(2000);
  process.interrupt();
  EXPECT_EQ(process.wait(), 130);
  const auto said = content_of(folder.path("err"));
  EXPECT_NE(said.find("the same command goes on"), std::string::npos) << said;
  EXPECT_EQ(said.find("--resume"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(folder.path("cut/scores.csv")));
  run_well(study("cut"));
  run_well(study("whole"));
  EXPECT_EQ(content_of(folder.path("cut/scores.csv")),
            content_of(folder.path("whole/scores.csv")));
}

TEST(ReproduceRepeats, TrainsAsFitDoesByDefault) {
  const TemporaryFolder folder;
  const RepeatTables tables(folder);
  const auto out = folder.path("study");
  run_well(repeats({"--splits", "1", "--first-seed", "7", "--tables", "pbcseq-logs",
                    "--data", tables.data, "--out", out}));
  const auto fit_with = [&](const std::string& name, const Arguments& dependence) {
    run_well(Arguments{"fit", out + "/data/pbcseq-logs-7.csv", "--columns",
                       "bili,albumin,ast,platelet,protime", "--seed", "7", "--threads",
                       "1", "--folds", "2", "--replicas", "4", "--epochs", "10",
                       "--no-report", "--no-inference", "--out", folder.path(name)} +
             dependence);
    EXPECT_EQ(content_of(folder.path(name) + "/metrics.csv"),
              content_of(out + "/trainings/pbcseq-logs-7-" + name + "/metrics.csv"));
  };
  fit_with("group", {"--group", "id"});
  fit_with("independent", {"--independent"});
}

TEST(ReproduceRepeats, RefusesTablesThatAreNotThere) {
  const TemporaryFolder folder;
  const RepeatTables tables(folder);
  const Arguments out = {"--out", folder.path("study")};
  expect_refusal(folder, repeats(out), {"--data"});
  expect_refusal(folder,
                 repeats(out + Arguments{"--data", tables.data, "--tables", "labs"}),
                 {"--tables", "'labs'", "mathachieve"});
  std::filesystem::remove(tables.data + "/mathachieve.csv");
  expect_refusal(folder, repeats(out + Arguments{"--data", tables.data}),
                 {"--data", "mathachieve.csv", "School", tables.data});
}

}  // namespace
}  // namespace kinflow::cli
