// Models of several members, by the real binary.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

Model ensemble() {
  return load_model(SharedFiles::get().ensemble_run + "/model.safetensors", nd::kCPU,
                    nd::kDouble);
}

Array numbers(const std::string& path, const Arguments& columns) {
  return read_rows(path, {.columns = columns}).data;
}

TEST(EnsembleFit, KeepsTheBestFlowsOfAGrid) {
  const auto& files = SharedFiles::get();
  const Json record = Json::parse(content_of(files.ensemble_run + "/run.json"));
  EXPECT_EQ(record["request"]["ensemble"], 3);
  const auto& members = record["result"]["members"];
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(ensemble().members(), 3);
  std::vector<double> best(4, HUGE_VAL);  // of each replica, from the metrics
  const auto metrics =
      numbers(files.ensemble_run + "/metrics.csv", {"replica", "valid_nll_nats"});
  for (std::int64_t i = 0; i < metrics.size(0); ++i) {
    auto& own = best[static_cast<std::size_t>(metrics[i][0].item<double>())];
    own = std::min(own, metrics[i][1].item<double>());
  }
  for (const auto& member : members) {
    EXPECT_EQ(member["valid_nll_nats"].get<double>(),
              best[member["replica"].get<std::size_t>()]);
  }
  std::sort(best.begin(), best.end());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(members[i]["valid_nll_nats"].get<double>(), best[i]);
  }
}

TEST(EnsembleFit, ImpossibleNumbersOfMembersAreRefused) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto fit_with = [&](const Arguments& more) {
    return Arguments{"fit",   files.blocks + "/train.csv", "--group", "group",
                     "--out", folder.path("run")} +
           small_fit(more);
  };
  const Arguments grid = {"--schedule", "grid", "--grid", "0.2,0.8"};
  expect_refusal(folder, fit_with(grid + Arguments{"--ensemble", "3"}),
                 {"--ensemble: expected at most 2", "found 3"});
  expect_refusal(folder, fit_with({"--ensemble", "2"}),
                 {"--ensemble: expected at most 1", "found 2"});
  for (const std::string bad : {"0", "-1", "1001", "two", "1.5"}) {
    expect_refusal(folder, fit_with(grid + Arguments{"--ensemble", bad}),
                   {"--ensemble"});
  }
}

TEST(EnsembleFit, AResumedRunKeepsItsMembers) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto fit_into = [&](const std::string& name) {
    return Arguments{"fit",     files.blocks + "/train.csv",
                     "--group", "group",
                     "--out",   folder.path(name)} +
           small_fit({"--schedule", "grid", "--grid", "0.2,0.5,0.8", "--ensemble", "2",
                      "--checkpoint-seconds", "0"},
                     "60");
  };
  run_well(fit_into("whole"));
  {
    Process process(fit_into("cut"), folder.path("out"), folder.path("err"));
    while (process.is_running() &&
           !std::filesystem::exists(folder.path("cut/checkpoint.safetensors"))) {
      usleep(1000);
    }
    process.kill();
  }
  run_well({"fit", "--resume", folder.path("cut")});
  EXPECT_EQ(content_of(folder.path("cut/model.safetensors")),
            content_of(folder.path("whole/model.safetensors")));
}

TEST(EnsembleEvaluate, ScoresTheMixture) {
  const auto& files = SharedFiles::get();
  const std::string table = files.blocks + "/test.csv";
  const Json scores =
      Json::parse(run_well({"evaluate", files.ensemble_run, table, "--json"}));
  const auto model = ensemble();
  const auto data = numbers(table, {"x1", "x2"});
  Array mean;
  for (std::int64_t k = 0; k < 3; ++k) {
    const auto density = model.member(k).row_log_density(data, {}).exp() / 3;
    mean = k == 0 ? density : mean + density;
  }
  EXPECT_NEAR(scores["mean_nll_nats"].get<double>(), -mean.log().mean().item<double>(),
              1e-10);
  const Json joint =
      Json::parse(run_well({"evaluate", files.ensemble_run, files.blocks + "/train.csv",
                            "--group", "group", "--json"}));
  EXPECT_TRUE(std::isfinite(joint["joint_log_density_nats"].get<double>()));
}

// The density of all rows is that of some rows times that of the others given these.
TEST(EnsembleEvaluate, GivenObservedRowsIsTheQuotientOfJointDensities) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::string text = content_of(files.blocks + "/train.csv");
  const auto header = text.substr(0, text.find('\n') + 1);
  auto middle = text.find('\n', text.size() / 2) + 1;
  const auto first = folder.write("first.csv", text.substr(0, middle));
  const auto second = folder.write("second.csv", header + text.substr(middle));
  const auto joint = [&](const Arguments& tables, const std::string& key) {
    return Json::parse(run_well(Arguments{"evaluate", files.ensemble_run} + tables +
                                Arguments{"--group", "group", "--json"}))[key]
        .get<double>();
  };
  EXPECT_NEAR(joint({files.blocks + "/train.csv"}, "joint_log_density_nats"),
              joint({first}, "joint_log_density_nats") +
                  joint({second, "--given", first}, "joint_log_density_given_nats"),
              1e-6);
}

TEST(EnsembleSample, DrawsAreTheSameForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto draw = [&](const std::string& name, const std::string& threads,
                        const Arguments& what) {
    run_well(Arguments{"sample", files.ensemble_run, "--seed", "3", "--threads",
                       threads, "--out", folder.path(name)} +
             what + kOverwrite);
    return content_of(folder.path(name));
  };
  for (const auto& what :
       {Arguments{"--rows", "40000"}, Arguments{"--block-sizes", "3,2", "--rows", "50"},
        Arguments{"--rows", "2", "--given", files.blocks + "/train.csv"}}) {
    const auto one = draw("one.csv", "1", what);
    EXPECT_EQ(one, draw("four.csv", "4", what));
    EXPECT_GT(std::count(one.begin(), one.end(), '\n'), 30);
  }
}

TEST(EnsembleTransform, IsThatOfTheBestMemberAndSaysSo) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::string table = files.blocks + "/test.csv";
  const Outcome there =
      run({"transform", files.ensemble_run, table, "--out", folder.path("u.csv")});
  EXPECT_EQ(there.exit_code, 0);
  EXPECT_NE(there.err.find("best of the model's 3 members"), std::string::npos);
  const auto data = numbers(table, {"x1", "x2"});
  EXPECT_TRUE(nd::allclose(numbers(folder.path("u.csv"), {"u1", "u2"}),
                           ensemble().member(0).to_latent(data, {}).latents, 0, 1e-9));
  const Outcome back = run({"transform", files.ensemble_run, folder.path("u.csv"),
                            "--inverse", "--out", folder.path("x.csv")});
  EXPECT_NE(back.err.find("best of the model's 3 members"), std::string::npos);
  EXPECT_TRUE(nd::allclose(numbers(folder.path("x.csv"), {"x1", "x2"}), data, 0, 1e-8));
  const Outcome single =
      run({"transform", files.blocks_run, table, "--out", folder.path("v.csv")});
  EXPECT_EQ(single.err.find("members"), std::string::npos);
}

TEST(EnsembleInspect, ShowsEveryMember) {
  const auto& files = SharedFiles::get();
  const auto text = run_well({"inspect", files.ensemble_run});
  EXPECT_NE(text.find("3 of the members: spline coupling"), std::string::npos);
  EXPECT_NE(text.find("typical rho"), std::string::npos);
  const Json shown = Json::parse(run_well({"inspect", files.ensemble_run, "--json"}));
  ASSERT_EQ(shown["members"].size(), 3u);
  const auto model = ensemble();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& member = shown["members"][i];
    EXPECT_EQ(member["valid_nll_nats"],
              shown["record"]["members"][i]["valid_nll_nats"]);
    EXPECT_EQ(member["dependence_parameters"].get<std::vector<double>>(),
              model.dependence_of(static_cast<std::int64_t>(i)).parameters);
  }
  EXPECT_EQ(
      Json::parse(run_well({"inspect", files.blocks_run, "--json"}))["members"].size(),
      1u);
}

}  // namespace
}  // namespace kinflow::cli
