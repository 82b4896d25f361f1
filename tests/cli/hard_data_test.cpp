// Data and options on which other libraries return NaN.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/data/table.h"
#include "kinflow/fit/fit_data.h"
#include "kinflow/model/model.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// A table of 120 rows in 30 groups; `cell` gives the value of a row and a column.
std::string table_of(const std::function<double(int row, int column)>& cell) {
  std::string text = "a,b,g\n";
  char number[64];
  for (int row = 0; row < 120; ++row) {
    for (int column = 0; column < 2; ++column) {
      std::snprintf(number, sizeof(number), "%.17g,", cell(row, column));
      text += number;
    }
    text += "person" + std::to_string(row / 4) + "\n";
  }
  return text;
}

class HardData : public testing::Test {
 protected:
  /// Fits a table and checks that nothing anywhere is NaN or infinite.
  void expect_sound_fit(const std::string& table_text, const Arguments& more = {}) {
    const std::string table = folder_.write("t.csv", table_text);
    const std::string run_folder = folder_.path("run" + std::to_string(runs_++));
    const Outcome outcome =
        run(Arguments{"fit", table, "--group", "g", "--out", run_folder} +
            small_fit(more, "5"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("nan"), std::string::npos) << outcome.err;
    expect_finite_metrics(run_folder);
    expect_finite_model(run_folder, table);
  }

  /// Only the train NLL of epoch 0 is missing.
  void expect_finite_metrics(const std::string& run_folder) {
    const Table metrics = read_table(run_folder + "/metrics.csv");
    // Rows of held-out groups are weighted, rows of another table are not.
    const auto& names = metrics.names();
    const std::string weighted = "valid_weighted_nll_nats";
    const bool is_weighted =
        std::find(names.begin(), names.end(), weighted) != names.end();
    const auto all = numeric_matrix(
        metrics, {"epoch", "replica", is_weighted ? weighted : "valid_nll_nats",
                  "learning_rate", "typical_parameter"});
    EXPECT_EQ(all.values[0], 0);
    const auto trained =
        numeric_matrix(metrics, {"train_nll_nats"}, {.missing = MissingPolicy::drop});
    EXPECT_EQ(trained.dropped_rows, 1);
  }

  /// Densities, latents, the way back, and draws.
  void expect_finite_model(const std::string& run_folder, const std::string& table) {
    const Model model = load_model(run_folder + "/model.safetensors");
    const auto rows = read_rows(table, {.columns = model.columns});
    const auto latents = model.to_latent(rows.data, {}).latents;
    const auto is_finite = [](const Array& values) {
      return nd::isfinite(values).all().item<bool>();
    };
    EXPECT_TRUE(is_finite(model.row_log_density(rows.data, {})));
    EXPECT_TRUE(is_finite(latents));
    const auto back = model.from_latent(latents, {});
    const auto size = rows.data.abs() + model.parts[0].standardization.deviation;
    EXPECT_LT(((back - rows.data).abs() / size).max().item<double>(), 1e-2);
    Random random(2);
    auto draws = nd::empty({1000, 2}, nd::kDouble);
    for (std::int64_t i = 0; i < draws.numel(); ++i) {
      draws.data_ptr<double>()[i] = random.normal();
    }
    EXPECT_TRUE(is_finite(model.from_latent(draws, {})));
  }

  TemporaryFolder folder_;
  Random random_{11};

 private:
  int runs_ = 0;
};

TEST_F(HardData, ConstantTailsAtAMillion) {
  const auto tails = table_of([&](int row, int column) {
    return row % (7 + 3 * column) == 0 ? 1e6 : random_.normal();
  });
  expect_sound_fit(tails, {"--allow-ties", "a,b"});
  expect_sound_fit(tails, {"--allow-ties", "a,b", "--flow", "affine", "--layers", "2"});

  // The same through the binary alone.
  const std::string table = folder_.path("t.csv"), run_folder = folder_.path("run0");
  const std::string json =
      run_well({"evaluate", run_folder, table, "--group", "g", "--json"});
  EXPECT_EQ(json.find("null"), std::string::npos) << json;
  run_well({"transform", run_folder, table, "--out", folder_.path("u.csv")});
  EXPECT_EQ(numeric_matrix(read_table(folder_.path("u.csv")), {"u1", "u2"}).rows, 120);
  run_well({"sample", run_folder, "--rows", "200", "--out", folder_.path("s.csv")});
  EXPECT_EQ(numeric_matrix(read_table(folder_.path("s.csv")), {"a", "b"}).rows, 200);
}

TEST_F(HardData, AllRowsOutsideTheBound) {
  expect_sound_fit(table_of([&](int row, int column) {
                     return (row >> column) % 2 == 0 ? -1 : 1.0;
                   }),
                   {"--allow-ties", "a,b", "--bound", "0.01"});
}

TEST_F(HardData, DuplicatedRowsAndIntegers) {
  expect_sound_fit(table_of([](int row, int column) {
                     return (row / 40) * (1 - column) + row / 60 * column;
                   }),
                   {"--columns", "a,b", "--allow-ties", "a,b"});
}

TEST_F(HardData, HeavyTails) {
  expect_sound_fit(table_of([&](int, int) {
    return std::tan(std::numbers::pi * (random_.uniform() - 0.5));
  }));
}

TEST_F(HardData, HugeOffsetsAndTinyScales) {
  expect_sound_fit(table_of([&](int, int column) {
    return column == 0 ? 1e12 + 0.01 * random_.normal() : 1e-12 * random_.normal();
  }));
}

TEST_F(HardData, TheEndsOfFloat64) {
  expect_sound_fit(table_of([&](int, int column) {
    return (column == 0 ? 1e300 : 1e-300) * random_.normal();
  }));
}

TEST_F(HardData, TwoAndThreeRows) {
  const std::string two = "a,b,g\n1,2,x\n3,5,y\n";
  expect_sound_fit(two, {"--valid", folder_.write("valid.csv", "a,b\n2,3\n")});
  expect_sound_fit("a,b,g\n1,2,x\n3,5,y\n2,4,y\n");
}

TEST_F(HardData, ALearningRateOfTenRecoversOrStopsClearly) {
  const std::string table =
      folder_.write("t.csv", table_of([&](int, int) { return random_.normal(); }));
  for (const std::string rate : {"10", "1000000"}) {
    const std::string run_folder = folder_.path("run" + rate);
    const Outcome outcome =
        run(Arguments{"fit", table, "--group", "g", "--learning-rate", rate, "--out",
                      run_folder} +
            small_fit({}, "8"));
    EXPECT_EQ(outcome.err.find("nan"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
    if (outcome.exit_code == 0) {
      expect_finite_model(run_folder, table);
      continue;
    }
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("kinflow: training diverged"), std::string::npos);
    EXPECT_NE(outcome.err.find("--learning-rate"), std::string::npos);
    expect_refusal(folder_, {"inspect", run_folder},
                   {run_folder, "expected a finished run", "training diverged"});
  }
}

TEST_F(HardData, AModelTooLargeForTheMachineIsOutOfMemory) {
  const std::string table =
      folder_.write("t.csv", table_of([&](int, int) { return random_.normal(); }));
  const Outcome outcome =
      run({"fit", table, "--group", "g", "--hidden", "100000,100000", "--layers",
           "1000", "--out", folder_.path("run")});
  EXPECT_EQ(outcome.exit_code, 1);
  expect_one_error_line(outcome, {"out of memory"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path("run")));
}

}  // namespace
}  // namespace kinflow::cli
