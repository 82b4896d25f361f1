// Fits that keep several of their flows as the members of one model.
#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/folded_training.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

class Ensemble : public testing::Test {
 protected:
  /// A table of pairs of rows that have a part in common.
  std::string write_pairs(const std::string& name, int rows, std::uint64_t seed) {
    Random random(seed);
    std::string text = "x1,x2,group\n";
    double shared = 0;
    for (int i = 0; i < rows; ++i) {
      if (i % 2 == 0) shared = random.normal();
      const double a = 0.8 * shared + 0.6 * random.normal();
      text += std::to_string(a) + "," + std::to_string(std::abs(a) + random.normal()) +
              ",g" + std::to_string(i / 2) + "\n";
    }
    return folder_.write(name, text);
  }

  FitRequest grid_request(std::int64_t ensemble) {
    FitRequest request;
    request.data.table = write_pairs("train.csv", 400, 1);
    request.data.dependence.group = "group";
    request.data.folds = 1;
    request.flow.hidden = {8};
    request.flow.bins = 4;
    request.train.schedule = Schedule::grid;
    request.train.grid = {0.1, 0.4, 0.6, 0.9};
    request.train.epochs = 4;
    request.float64 = true;
    request.ensemble = ensemble;
    return request;
  }

  FitResult fit_into(const FitRequest& request, const std::string& name) {
    return fit(request, {.directory = folder_.path(name)}, silent_);
  }

  const TemporaryFolder folder_;
  Logger silent_;
};

TEST_F(Ensemble, MembersAreTheBestReplicasInOrder) {
  auto request = grid_request(4);
  request.data.valid_table = write_pairs("valid.csv", 200, 2);
  const auto all = fit_into(request, "all");
  const auto& members = all.model.record["members"];
  ASSERT_EQ(members.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_LE(members[i - 1]["valid_nll_nats"].get<double>(),
              members[i]["valid_nll_nats"].get<double>());
  }
  request.ensemble = 2;
  const auto two = fit_into(request, "two").model;
  EXPECT_EQ(two.members(), 2);
  EXPECT_TRUE(nd::equal(two.parts[0].flow->values(),
                        all.model.parts[0].flow->values().narrow(0, 0, 2)));
  for (std::int64_t member = 0; member < 4; ++member) {
    const auto replica =
        members[static_cast<std::size_t>(member)]["replica"].get<std::size_t>();
    EXPECT_NEAR(all.model.dependence_of(member).typical_parameter(),
                request.train.grid[replica], 1e-9);
  }
  EXPECT_EQ(all.model.record["inference"]["member"], "best");
  EXPECT_EQ(all.model.record["best_replica"], members[0]["replica"]);
}

TEST_F(Ensemble, ValidationOfSingleRowsIsThatOfTheMixture) {
  auto request = grid_request(3);
  request.data.valid_table = write_pairs("valid.csv", 200, 2);
  const auto result = fit_into(request, "run");
  const auto& model = result.model;
  const auto valid = read_rows(request.data.valid_table, {.columns = model.columns});
  EXPECT_EQ(model.record["valid_score"], "rows");
  EXPECT_NEAR(result.valid_nll_nats,
              -model.row_log_density(valid.data, {}).mean().item<double>(), 1e-10);
  EXPECT_EQ(model.record["valid_nll_nats"].get<double>(), result.valid_nll_nats);
  double mean = 0;
  for (std::int64_t member = 0; member < 3; ++member) {
    const double own =
        -model.member(member).row_log_density(valid.data, {}).mean().item<double>();
    EXPECT_NEAR(
        model.record["members"][static_cast<std::size_t>(member)]["valid_nll_nats"]
            .get<double>(),
        own, 1e-10);
    mean += own / 3;
  }
  EXPECT_LT(result.valid_nll_nats, mean);  // the logarithm is concave
}

TEST_F(Ensemble, ValidationOfHeldOutGroupsIsThatOfTheMixtureWithWeightedRows) {
  // Groups of two rows: all weights are equal, whatever the correlation.
  const auto result = fit_into(grid_request(3), "run");
  const auto& record = result.model.record;
  EXPECT_EQ(record["valid_score"], "weighted");
  auto request = with_defaults(grid_request(3));
  auto rows = read_fit_rows(request.data, request.flow);
  hold_out(request.data, request.train.seed, rows);
  ASSERT_EQ(rows.valid.data.size(0), record["valid_rows"].get<std::int64_t>());
  EXPECT_NEAR(result.valid_nll_nats,
              -result.model.row_log_density(rows.valid.data, {}).mean().item<double>(),
              1e-9);
}

TEST_F(Ensemble, OfOneIsTheBestReplicaAlone) {
  const auto one = fit_into(grid_request(1), "one");
  const auto three = fit_into(grid_request(3), "three");
  EXPECT_EQ(one.model.members(), 1);
  EXPECT_TRUE(nd::equal(one.model.parts[0].flow->values()[0],
                        three.model.parts[0].flow->values()[0]));
  EXPECT_EQ(one.model.dependence.parameters, three.model.dependence.parameters);
  EXPECT_EQ(one.model.record["members"].size(), 1u);
}

/// Keeps the warnings.
struct WarningLogger : Logger {
  std::vector<std::string> warnings;
  void warning(const std::string& message) override { warnings.push_back(message); }
};

TEST_F(Ensemble, LeavesOutReplicasThatDivergedForGood) {
  const auto request = with_defaults(grid_request(4));
  FoldedTraining training({request}, silent_);
  auto& group = training.groups().of(0, 0);
  auto& trainer = group.trainer();
  trainer.run_epoch();
  const auto failed = training.groups().ranked(0, 0).front().replica;
  auto state = trainer.state();
  state.at("restarts")[failed] = Trainer::kMaximumRestarts + 1;
  trainer.restore(state);
  ASSERT_TRUE(trainer.has_failed(failed));
  WarningLogger logger;
  const auto result = training.finish(0, new_run_record(request), logger);
  EXPECT_EQ(result.model.members(), 3);
  for (const auto& member : result.model.record["members"]) {
    EXPECT_NE(member["replica"], failed);
  }
  ASSERT_EQ(logger.warnings.size(), 1u);
  EXPECT_NE(logger.warnings[0].find("3 members in place of 4"), std::string::npos);
}

TEST_F(Ensemble, MoreMembersThanReplicasAreRefusedBeforeAnyTraining) {
  EXPECT_THROW(fit_into(grid_request(5), "five"), InputError);
  auto request = grid_request(2);
  request.train.schedule = Schedule::joint;
  request.replicas.count = 1;
  EXPECT_THROW(fit_into(request, "joint"), InputError);
  EXPECT_THROW(fit_into(grid_request(0), "zero"), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("five")));
}

}  // namespace
}  // namespace kinflow
