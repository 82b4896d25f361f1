// The verbs in the order in which a person uses them, from simulated data to samples.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/array/array.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_table.h"
#include "kinflow/model/model.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

NumericMatrix numbers_in(const std::string& path, const Arguments& columns) {
  return numeric_matrix(read_table(path), columns);
}

Json json_in(const std::string& path) { return Json::parse(content_of(path)); }

Json json_of(const Arguments& arguments) {
  return Json::parse(run_well(arguments), nullptr, /*allow_exceptions=*/false);
}

/// The record of a run that must have finished, after a fit of `arguments`.
Json fitted(const std::string& run_folder, const Arguments& arguments) {
  run_well(Arguments{"fit"} + small_fit(arguments + Arguments{"--out", run_folder}));
  const Json record = json_in(run_folder + "/run.json");
  EXPECT_EQ(record["status"], "finished");
  return record;
}

double mean_product(const Numbers& left, const Numbers& right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum / static_cast<double>(left.size());
}

/// Latents of the first column of a table under a run's model.
Numbers first_latents(const std::string& run_folder, const std::string& table) {
  const Model model = load_model(run_folder + "/model.safetensors");
  const auto rows = numbers_in(table, model.columns);
  const auto data = nd::tensor(rows.values, nd::kDouble).view({rows.rows, -1});
  const auto latents = model.to_latent(data, {}).latents.select(1, 0).contiguous();
  return {latents.data_ptr<double>(), latents.data_ptr<double>() + latents.numel()};
}

TEST(Evaluate, WritesTheLogDensityOfEveryRow) {
  const auto& files = SharedFiles::get();
  const TemporaryFolder folder;
  const auto scores = folder.path("scores.csv");
  const auto json = nlohmann::json::parse(
      run_well({"evaluate", files.blocks_run, files.blocks + "/test.csv", "--json",
                "--out", scores, "--keep", "x1"}));
  const auto table = read_table(scores);
  EXPECT_EQ(table.names(), (std::vector<std::string>{"log_density_nats", "x1"}));
  const auto rows = numeric_matrix(table, {"log_density_nats"});
  ASSERT_EQ(rows.rows, json.at("rows").get<std::int64_t>());
  double sum = 0;
  for (const double density : rows.values) sum += density;
  EXPECT_NEAR(-sum / static_cast<double>(rows.rows),
              json.at("mean_nll_nats").get<double>(), 1e-9);
}

TEST(Fit, HeldOutRowsCountByWhatTheyAreWorth) {
  const auto& files = SharedFiles::get();
  const TemporaryFolder folder;
  const auto held_out = run(Arguments{"fit", files.blocks + "/train.csv", "--group",
                                      "group", "--out", folder.path("split")} +
                            small_fit());
  EXPECT_EQ(held_out.exit_code, 0);
  EXPECT_NE(held_out.err.find("weighted by what each is worth"), std::string::npos)
      << held_out.err;
  EXPECT_NE(held_out.err.find("columns: x1, x2"), std::string::npos) << held_out.err;
  const auto record =
      nlohmann::json::parse(content_of(folder.path("split") + "/run.json"));
  EXPECT_EQ(record.at("result").at("valid_score"), "weighted");
  EXPECT_TRUE(record.at("result").contains("valid_weighted_nll_nats"));
}

TEST(Simulate, BlocksComeWithTheirTruth) {
  const auto& files = SharedFiles::get();
  const Table train = read_table(files.blocks + "/train.csv");
  EXPECT_EQ(train.names(), (Arguments{"x1", "x2", "group"}));
  EXPECT_EQ(train.rows(), SharedFiles::kRows);
  EXPECT_EQ(read_table(files.blocks + "/valid.csv").names(), (Arguments{"x1", "x2"}));
  EXPECT_EQ(read_table(files.blocks + "/test.csv").rows(), 90);
  const Json truth = json_in(files.blocks + "/truth.json");
  EXPECT_NEAR(truth["entropy_nats"].get<double>(), 1.338, 1e-3);
  const auto blocks = number_blocks(labels(train, "group")).label_of_block;
  ASSERT_EQ(truth["rho"].size(), blocks.size());
  for (const auto& label : blocks) {
    EXPECT_GE(truth["rho"][label].get<double>(), 0.5);
    EXPECT_LE(truth["rho"][label].get<double>(), 0.99);
  }
}

TEST(Simulate, RelativesComeWithTheirMatrixAndTruth) {
  const auto& files = SharedFiles::get();
  EXPECT_EQ(read_table(files.relatives + "/train.csv").names(),
            (Arguments{"x1", "x2", "id"}));
  EXPECT_EQ(read_npy(files.relatives + "/relationship.npy").shape,
            (std::vector<std::int64_t>{60, 60}));
  const Json truth = json_in(files.relatives + "/truth.json");
  EXPECT_EQ(truth["lambda"], 0.25);
  EXPECT_NEAR(truth["entropy_nats"].get<double>(), 1.838, 1e-3);
}

TEST(Fit, IndependentAffineFromTabsWithASplitByRows) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  std::string text = content_of(files.blocks + "/test.csv");
  std::replace(text.begin(), text.end(), ',', '\t');
  const Json record = fitted(folder.path("run"),
                             {folder.write("t.tsv", text), "--independent", "--flow",
                              "affine", "--layers", "2", "--valid-fraction", "0.2"});
  EXPECT_EQ(record["result"]["train_rows"], 72);
  EXPECT_EQ(record["result"]["valid_rows"], 18);
  EXPECT_EQ(record["request"]["train"]["schedule"], "baseline");
  EXPECT_EQ(record["request"]["flow"]["kind"], "affine");
}

TEST(Fit, GridWithPairsKeepsWholeGroupsApart) {
  const TemporaryFolder folder;
  const Json record =
      fitted(folder.path("run"),
             {SharedFiles::get().blocks + "/train.csv", "--group", "group",
              "--schedule", "grid", "--grid", "0.2,0.8", "--estimator", "pairs"});
  const Json& result = record["result"];
  EXPECT_EQ(result["train_rows"].get<int>() + result["valid_rows"].get<int>(),
            SharedFiles::kRows);
  const Model model = load_model(folder.path("run/model.safetensors"));
  const std::set<double> tried = {0.2, 0.8};
  for (const double rho : model.dependence.parameters) EXPECT_TRUE(tried.contains(rho));
  const auto metrics = read_table(folder.path("run/metrics.csv"));
  EXPECT_EQ(metrics.rows(), 2 * 4);  // two replicas, epochs 0 to 3
}

TEST(Fit, AlternatingMovesTheParameterBetweenEpochsOfTheFlow) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  fitted(folder.path("run"),
         Arguments{files.relatives + "/train.csv", "--valid",
                   files.relatives + "/valid.csv", "--schedule", "alternating",
                   "--stage-epochs", "1", "--estimator", "memory"} +
             files.by_matrix());
  const auto lambda =
      numbers_in(folder.path("run/metrics.csv"), {"typical_parameter"}).values;
  EXPECT_EQ(lambda[0], lambda[1]);
  EXPECT_NE(lambda[1], lambda[2]);
}

TEST(Fit, ArraysOneColumnAndTheBaselineSchedule) {
  const TemporaryFolder folder;
  Numbers values;
  for (int i = 0; i < 120; ++i) {
    values.push_back(std::sin(i) * i);
    values.push_back(i / 6);
  }
  write_npy(folder.path("t.npy"), {120, 2}, values);
  fitted(folder.path("run"), {folder.path("t.npy"), "--columns", "x1", "--group", "x2",
                              "--schedule", "baseline"});
  // Latents without names find their way back.
  run_well({"transform", folder.path("run"), folder.path("t.npy"), "--out",
            folder.path("u.npy")});
  run_well({"transform", folder.path("run"), folder.path("u.npy"), "--inverse", "--out",
            folder.path("back.npy")});
  const auto back = read_npy(folder.path("back.npy"));
  ASSERT_EQ(back.shape, (std::vector<std::int64_t>{120, 1}));
  for (std::size_t i = 0; i < 120; ++i)
    EXPECT_NEAR(back.values[i], values[2 * i], 1e-3);
}

TEST(Fit, ContextTextLabelsAndMissingValues) {
  const TemporaryFolder folder;
  std::string text = "weight,age,\"who, \xc3\xa9\",height\n";
  const Arguments people = {"Ann", "\"Lee, Bo\"", "Z\xc3\xbcrn", "d"};
  for (std::size_t i = 0; i < 80; ++i) {
    const double age = 20 + static_cast<double>(i % 40);
    text +=
        (i % 20 == 7 ? "NA" : std::to_string(60 + age / 4 + std::sin(7.0 * age * i))) +
        "," + std::to_string(age) + "," + people[i % 4] + "," +
        std::to_string(170 + std::cos(3.0 * i)) + "\n";
  }
  const std::string table = folder.write("t.csv", text), out = folder.path("run");
  const Json record =
      fitted(out, {table, "--columns", "weight,height", "--context", "age", "--group",
                   "who, \xc3\xa9", "--drop-missing", "--split-by", "rows"});
  EXPECT_EQ(record["result"]["train_rows"].get<int>() +
                record["result"]["valid_rows"].get<int>(),
            76);
  EXPECT_EQ(load_model(out + "/model.safetensors").dependence.labels.size(), 4u);

  // One row is drawn for every row of context; latents carry it for the way back.
  run_well({"sample", out, "--for", table, "--out", folder.path("s.csv")});
  EXPECT_EQ(numbers_in(folder.path("s.csv"), {"weight", "height"}).rows, 80);
  run_well({"transform", out, folder.path("s.csv"), "--drop-missing", "--out",
            folder.path("u.csv")});
}

TEST(Evaluate, RowsAloneAsTextAndAsJson) {
  const auto& files = SharedFiles::get();
  const Arguments arguments = {"evaluate", files.blocks_run,
                               files.blocks + "/test.csv"};
  const Json json = json_of(arguments + Arguments{"--json"});
  ASSERT_TRUE(json["mean_nll_nats"].is_number());
  EXPECT_EQ(json["rows"], 90);
  EXPECT_FALSE(json.contains("joint_log_density_nats"));
  EXPECT_NEAR(json["bits_per_dimension"].get<double>() * 2 * std::log(2),
              json["mean_nll_nats"].get<double>(), 1e-9);
  const std::string text = run_well(arguments);
  EXPECT_NE(text.find("mean_nll_nats"), std::string::npos);
}

// With a parameter that means independence the rows together are the rows alone.
TEST(Evaluate, JointLikelihoodFollowsTheParameter) {
  const auto& files = SharedFiles::get();
  const Arguments by_group = {"evaluate", files.blocks_run, files.blocks + "/train.csv",
                              "--group",  "group",          "--json"};
  const Arguments by_matrix = Arguments{"evaluate", files.relatives_run,
                                        files.relatives + "/train.csv", "--json"} +
                              files.by_matrix();
  for (const auto& [arguments, independent] :
       {std::pair(by_group, "0"), std::pair(by_matrix, "1")}) {
    const Json learned = json_of(arguments);
    const Json alone = json_of(arguments + Arguments{"--parameter", independent});
    EXPECT_NEAR(alone["joint_nll_nats_per_row"].get<double>(),
                alone["mean_nll_nats"].get<double>(), 1e-9);
    EXPECT_NE(learned["joint_log_density_nats"], alone["joint_log_density_nats"]);
    EXPECT_EQ(learned["mean_nll_nats"], alone["mean_nll_nats"]);
  }
}

TEST(Sample, TheSeedDecides) {
  const TemporaryFolder folder;
  const auto draw = [&](const std::string& seed, const std::string& name) {
    run_well({"sample", SharedFiles::get().blocks_run, "--rows", "40", "--seed", seed,
              "--out", folder.path(name)});
    return content_of(folder.path(name));
  };
  const std::string first = draw("1", "a.csv");
  EXPECT_EQ(numbers_in(folder.path("a.csv"), {"x1", "x2"}).rows, 40);
  EXPECT_EQ(draw("1", "b.csv"), first);
  EXPECT_NE(draw("2", "c.csv"), first);
}

TEST(Sample, RowsOfABlockAreCorrelatedInLatentSpace) {
  const TemporaryFolder folder;
  const std::string run_folder = SharedFiles::get().blocks_run;
  const std::string path = folder.path("s.tsv");
  run_well({"sample", run_folder, "--block-sizes", "2,1", "--rows", "3000",
            "--parameter", "0.7", "--seed", "3", "--out", path});
  const Numbers latents = first_latents(run_folder, path);
  const auto blocks = number_blocks(labels(read_table(path), "group")).block_of_row;
  ASSERT_EQ(latents.size(), 3000u);
  Numbers first, second, alone;
  for (std::size_t i = 0; i < latents.size(); i += 3) {
    EXPECT_EQ(blocks[i], blocks[i + 1]);
    EXPECT_NE(blocks[i + 1], blocks[i + 2]);
    first.push_back(latents[i]);
    second.push_back(latents[i + 1]);
    alone.push_back(latents[i + 2]);
  }
  EXPECT_NEAR(mean_product(first, second), 0.7, 0.15);
  EXPECT_NEAR(mean_product(second, alone), 0, 0.15);
}

TEST(Sample, FurtherRowsOfAGroupAreCloseToTheObservedOnes) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::string train = files.blocks + "/train.csv", path = folder.path("s.csv");
  run_well({"sample", files.blocks_run, "--given", train, "--rows", "3", "--parameter",
            "0.95", "--out", path});
  const auto observed = number_blocks(labels(read_table(train), "group"));
  const auto drawn = labels(read_table(path), "group");
  ASSERT_EQ(drawn.size(), 3 * observed.label_of_block.size());
  const Numbers known = first_latents(files.blocks_run, train);
  Numbers sum(observed.label_of_block.size()), count(sum.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    sum[static_cast<std::size_t>(observed.block_of_row[i])] += known[i];
    count[static_cast<std::size_t>(observed.block_of_row[i])] += 1;
  }
  const Numbers latents = first_latents(files.blocks_run, path);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_EQ(drawn[i], observed.label_of_block[i / 3]);
    // Three standard deviations of a block's row around the block's mean, and more.
    EXPECT_NEAR(latents[i], sum[i / 3] / count[i / 3], 1.5) << drawn[i];
  }
}

TEST(Sample, RelativesAreDrawnTogetherOrGivenOthers) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto train = numbers_in(files.relatives + "/train.csv", {"x1", "x2"});
  write_table(folder.path("known.csv"), train.names,
              std::span(train.values).first(2 * 55));
  const Arguments matrix = {"--relationship", files.relatives + "/relationship.npy",
                            "--relationship-by-position"};
  run_well(Arguments{"sample", files.relatives_run, "--given", folder.path("known.csv"),
                     "--rows", "5", "--out", folder.path("s.csv")} +
           matrix);
  EXPECT_EQ(numbers_in(folder.path("s.csv"), train.names).rows, 5);
  run_well(Arguments{"sample", files.relatives_run, "--rows", "60", "--out",
                     folder.path("s.npy")} +
           matrix);
  EXPECT_EQ(read_npy(folder.path("s.npy")).shape, (std::vector<std::int64_t>{60, 2}));
}

TEST(Transform, LatentsReturnToTheDataAndKeepWhatIsAsked) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::string train = files.blocks + "/train.csv";
  run_well({"transform", files.blocks_run, train, "--keep", "group", "--out",
            folder.path("u.csv")});
  EXPECT_EQ(read_table(folder.path("u.csv")).names(), (Arguments{"u1", "u2", "group"}));
  EXPECT_EQ(labels(read_table(folder.path("u.csv")), "group"),
            labels(read_table(train), "group"));
  run_well({"transform", files.blocks_run, folder.path("u.csv"), "--inverse", "--out",
            folder.path("back.tsv")});
  const auto before = numbers_in(train, {"x1", "x2"});
  const auto after = numbers_in(folder.path("back.tsv"), {"x1", "x2"});
  ASSERT_EQ(after.values.size(), before.values.size());
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    EXPECT_NEAR(after.values[i], before.values[i], 1e-4);
  }
}

TEST(Inspect, ShowsArchitectureDependenceHistoryAndOrigin) {
  const auto& files = SharedFiles::get();
  const Json json = json_of({"inspect", files.blocks_run, "--json"});
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["columns"], (Arguments{"x1", "x2"}));
  EXPECT_EQ(json["flow"]["bins"], 4);
  EXPECT_EQ(json["dependence"]["kind"], "blocks");
  EXPECT_EQ(json["dependence"]["column"], "group");
  EXPECT_FALSE(json["dependence"]["blocks"].empty());
  EXPECT_EQ(json["history"].size(), 4u);
  EXPECT_EQ(json["record"]["request"]["data"]["table"], files.blocks + "/train.csv");
  const std::string text = run_well({"inspect", files.relatives_run});
  for (const std::string part : {"x1, x2", "spline", "lambda", "epoch", "fnv1a64:"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  // A model file by itself has no history.
  const Json alone =
      json_of({"inspect", files.blocks_run + "/model.safetensors", "--json"});
  EXPECT_TRUE(alone["history"].empty());
}

TEST(Help, EveryVerbNamesItsDefaults) {
  const std::map<std::string, Arguments> expected = {
      {"simulate", {"=abs", "=blocks", "=10000", "=5000", "REQUIRED"}},
      {"fit",
       {"=joint", "default: auto", "default: 3 for spline", "--checkpoint-seconds",
        "=cpu"}},
      {"evaluate", {"--json", "=cpu", "--relationship-pcs", "--given"}},
      {"sample", {"--given", "--for", "[1 - 1000000000]"}},
      {"transform", {"--inverse", "=cpu"}},
      {"inspect", {"--json"}},
      {"clump", {"=5e-08", "=0.1", "=250", "--p-field", "REQUIRED"}},
      {"demo", {"=4000", "REQUIRED"}}};
  const std::string all = run_well({"--help"});
  for (const auto& [verb, parts] : expected) {
    EXPECT_NE(all.find(verb), std::string::npos);
    const std::string help = run_well({verb, "--help"});
    EXPECT_NE(help.find("Usage: kinflow " + verb), std::string::npos);
    for (const auto& part : parts) {
      EXPECT_NE(help.find(part), std::string::npos) << verb << ": " << part;
    }
  }
  EXPECT_EQ(run_well({"--version"}).rfind("kinflow ", 0), 0u);
}

}  // namespace
}  // namespace kinflow::cli
