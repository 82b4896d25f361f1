// Cross-fitting: which rows are held out, what becomes of the folds, and their scores.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/fit/cross_validation.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/flow_choices.h"
#include "kinflow/fit/fold_plan.h"
#include "kinflow/fit/folded_training.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/flow/density.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

class CrossFitted : public testing::Test {
 protected:
  /// Rows in groups of the given sizes that have a part in common.
  std::string write_groups(const std::vector<int>& sizes, std::uint64_t seed = 1) {
    Random random(seed);
    std::string text = "x1,x2,group,day\n";
    int day = 0;
    for (std::size_t group = 0; group < sizes.size(); ++group) {
      const double shared = random.normal();
      for (int i = 0; i < sizes[group]; ++i) {
        const double a = 0.8 * shared + 0.6 * random.normal();
        text += fmt::format("{},{},g{},{}\n", a, std::abs(a) + random.normal(), group,
                            ++day);
      }
    }
    return folder_.write("train.csv", text);
  }

  FitRequest request_for(const std::vector<int>& sizes) {
    FitRequest request;
    request.data.table = write_groups(sizes);
    request.data.columns = {"x1", "x2"};
    request.data.dependence.group = "group";
    request.data.dependence.correlation = BlockCorrelation::shared;
    request.flow.hidden = {8};
    request.flow.bins = 4;
    request.train.epochs = 6;
    request.train.batch_size = 64;
    request.replicas.count = 3;
    request.row_flows = false;
    request.float64 = true;
    return request;
  }

  FoldPlan plan_of(FitRequest request) {
    request = with_defaults(request);
    return plan_folds(request.data, read_fit_rows(request.data, request.flow),
                      request.data.folds == 0 ? kDefaultFolds : request.data.folds,
                      request.train.seed);
  }

  FitResult fit_into(const FitRequest& request, const std::string& name) {
    return fit(request, {.directory = folder_.path(name)}, silent_);
  }

  const TemporaryFolder folder_;
  Logger silent_;
};

TEST_F(CrossFitted, GroupsStayTogetherAndEveryRowIsHeldOutOnce) {
  const auto plan = plan_of(request_for(std::vector<int>(50, 4)));
  EXPECT_EQ(plan.folds, 5);
  EXPECT_EQ(plan.units, 50);
  std::vector<int> seen(200);
  for (std::int64_t fold = 0; fold < plan.folds; ++fold) {
    const auto held_out = plan.held_out_rows(fold), train = plan.training_rows(fold);
    EXPECT_EQ(held_out.size(), 40u);
    EXPECT_EQ(train.size(), 160u);
    std::set<std::int64_t> groups;
    for (const auto row : held_out) {
      ++seen[static_cast<std::size_t>(row)];
      groups.insert(row / 4);
    }
    for (const auto row : train) EXPECT_FALSE(groups.contains(row / 4));
  }
  EXPECT_EQ(seen, std::vector<int>(200, 1));
}

TEST_F(CrossFitted, OddNumbersOfGroupsAreSaid) {
  const auto few = plan_of(request_for({30, 30, 30, 30}));
  EXPECT_EQ(few.folds, 4);
  const auto giant = plan_of(request_for({300, 4, 4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(giant.folds, 5);
  EXPECT_NE(giant.note.find("one of them has 91% of the rows"), std::string::npos)
      << giant.note;
  const auto two = plan_of(request_for({30, 30}));
  EXPECT_EQ(two.folds, 5);
  EXPECT_EQ(two.units, 60);
  EXPECT_NE(two.note.find("all rows hang together in 2 parts"), std::string::npos)
      << two.note;
  // Two units are enough where the user names them.
  auto asked = request_for({30, 30});
  asked.data.dependence = {};
  asked.data.fold_by = "group";
  EXPECT_EQ(plan_of(asked).folds, 2);
}

TEST_F(CrossFitted, AColumnOfFoldsHoldsItsRowsOutTogether) {
  auto request = request_for(std::vector<int>(20, 5));
  request.data.dependence = {};
  EXPECT_EQ(plan_of(request).units, 100);
  request.data.fold_by = "group";
  const auto plan = plan_of(request);
  EXPECT_EQ(plan.units, 20);
  for (std::size_t row = 1; row < 100; ++row) {
    if (row % 5 == 0) continue;
    EXPECT_EQ(plan.fold_of_row[row], plan.fold_of_row[row - 1]);
  }
}

TEST_F(CrossFitted, StretchesOfTimeHaveGaps) {
  auto request = request_for(std::vector<int>(20, 5));
  request.data.dependence = {};
  request.data.dependence.time = "day";
  request.data.dependence.time_kernel = TimeKernel::exponential;
  const auto plan = plan_of(request);
  ASSERT_EQ(plan.folds, 5);
  EXPECT_EQ(plan.held_out_rows(1).front(), 20);
  EXPECT_EQ(plan.held_out_rows(1).back(), 39);
  const auto train = plan.training_rows(1);
  EXPECT_EQ(train.size(), 76u);
  for (const std::int64_t row : {18, 19, 40, 41}) {
    EXPECT_EQ(std::count(train.begin(), train.end(), row), 0) << row;
  }
}

TEST_F(CrossFitted, RelativesStayTogether) {
  // Person 0 and 7 are related, and 7 and 23.
  FitRows rows;
  rows.train.data = nd::zeros({100, 1}, nd::kDouble);
  RelationshipFile matrix;
  matrix.rows = 100;
  matrix.sparse.row_starts = {0};
  const std::map<std::int64_t, std::set<std::int64_t>> related = {
      {0, {7}}, {7, {0, 23}}, {23, {7}}};
  for (std::int64_t row = 0; row < 100; ++row) {
    std::set<std::int64_t> columns = {row};
    if (related.contains(row))
      columns.insert(related.at(row).begin(), related.at(row).end());
    for (const auto column : columns) {
      matrix.sparse.columns.push_back(column);
      matrix.sparse.values.push_back(column == row ? 1 : 0.5);
    }
    matrix.sparse.row_starts.push_back(std::ssize(matrix.sparse.columns));
  }
  rows.relations.rows = 100;
  rows.relations.relationships.push_back(matrix);
  DataRequest data;
  data.split_by = HoldOutBy::dependence;
  const auto plan = plan_folds(data, rows, 5, 3);
  EXPECT_EQ(plan.units, 98);
  EXPECT_EQ(plan.fold_of_row[0], plan.fold_of_row[7]);
  EXPECT_EQ(plan.fold_of_row[0], plan.fold_of_row[23]);
}

TEST_F(CrossFitted, OnePartHasItsShareOfWhatRowsAreWorth) {
  // By rows, all pairs would be held out and training would see one group.
  std::vector<int> sizes(101, 2);
  sizes[0] = 1800;
  auto request = with_defaults(request_for(sizes));
  auto rows = read_fit_rows(request.data, request.flow);
  hold_out(request.data, 1, rows);
  std::set<std::string> groups(rows.valid.labels.begin(), rows.valid.labels.end());
  EXPECT_GE(groups.size(), 13u);
  EXPECT_LE(groups.size(), 17u);
}

TEST_F(CrossFitted, ScoresAreThoseOfFlowsThatHaveNotSeenTheRow) {
  const auto request = with_defaults(request_for(std::vector<int>(60, 4)));
  FoldedTraining training({request}, silent_);
  while (!training.finished()) training.run_epoch();
  const auto result = training.finish(0, new_run_record(request), silent_);
  ASSERT_TRUE(result.cross_validation);
  const auto& scores = *result.cross_validation;
  const auto& model = result.model;
  ASSERT_EQ(model.members(), 10);
  const auto rows = read_fit_rows(request.data, request.flow);
  const auto plan = plan_folds(request.data, rows, 5, request.train.seed);
  EXPECT_EQ(scores.fold_of_row, plan.fold_of_row);
  // Members stand fold by fold.
  const auto latents = model.member_latents(rows.train.data, {});
  const auto densities =
      standard_normal_log_density(latents.latents) + latents.log_abs_det;
  double weighted = 0, total = 0;
  for (std::int64_t row = 0; row < 240; ++row) {
    const auto fold = plan.fold_of_row[static_cast<std::size_t>(row)];
    const double own =
        mixture_log_density(densities.select(1, row).narrow(0, 2 * fold, 2))
            .item<double>();
    EXPECT_NEAR(scores.log_density_of_row[static_cast<std::size_t>(row)], own, 1e-9);
    weighted += scores.weight_of_row[static_cast<std::size_t>(row)] * own;
    total += scores.weight_of_row[static_cast<std::size_t>(row)];
    // Groups of four rows with one correlation: all rows are worth the same.
    EXPECT_NEAR(scores.weight_of_row[static_cast<std::size_t>(row)],
                1 / (1 + 3 * model.dependence.parameters[0]), 1e-9);
  }
  EXPECT_NEAR(scores.nll_nats, -weighted / total, 1e-12);
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    const auto& member = model.record["members"][static_cast<std::size_t>(2 * fold)];
    EXPECT_EQ(member["fold"], fold + 1);
  }
}

TEST_F(CrossFitted, TheMapIsTrainedOnAllRowsAsOftenAsTheFoldsSay) {
  const auto request = with_defaults(request_for(std::vector<int>(60, 4)));
  const auto result = fit_into(request, "run");
  const auto& model = result.model;
  ASSERT_TRUE(model.map);
  const auto epochs = model.record["map"]["epochs"].get<std::int64_t>();
  EXPECT_EQ(epochs, result.best_epoch);
  // The same training by hand.
  auto rows = read_fit_rows(request.data, request.flow);
  auto all = rows;
  all.valid = all.train;
  auto dependence = make_fitted_dependence(
      request.data.dependence, request.train.schedule, rows, nd::kCPU, silent_);
  TrainingGroup group(
      {request}, all, dependence,
      {.replicas = {model.record["map"]["replica"].get<std::int64_t>()}});
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) group.trainer().run_epoch();
  EXPECT_TRUE(nd::equal(group.flow().values(), model.map->flow->values()));
  const auto loaded = load_model(folder_.path("run/model.safetensors"));
  ASSERT_TRUE(loaded.map);
  EXPECT_TRUE(nd::equal(loaded.map->flow->values(), model.map->flow->values()));
  EXPECT_TRUE(nd::equal(loaded.to_latent(all.train.data, {}).latents,
                        loaded.single().to_latent(all.train.data, {}).latents));
  EXPECT_FALSE(nd::equal(loaded.to_latent(all.train.data, {}).latents,
                         loaded.member(0).to_latent(all.train.data, {}).latents));
}

TEST_F(CrossFitted, OrdinaryFlowsDescribeSingleRowsWhereHeldOutGroupsSaySo) {
  // Flows that have to believe in a correlation of 0.95 of rows that are independent.
  Random random(5);
  std::string text = "x1,x2,group\n";
  for (int i = 0; i < 400; ++i) {
    const double a = random.normal();
    text += fmt::format("{},{},g{}\n", a, std::abs(a) + random.normal(), i / 8);
  }
  auto request = request_for({2});
  request.data.table = folder_.write("train.csv", text);
  request.train.dependence_rate = 0;
  request.replicas.starts = {0.95};
  request.replicas.count = 4;
  request.row_flows = true;
  request = with_defaults(request);
  ASSERT_TRUE(request.row_flows);
  const auto result = fit_into(request, "run");
  const auto& model = result.model;
  const auto& mixture = model.record["row_mixture"];
  const auto joined = mixture["row_flows_of_fold"].get<std::int64_t>();
  EXPECT_GT(joined, 0);
  EXPECT_LT(result.cross_validation->nll_nats,
            mixture["nll_nats_of_members"].get<double>());
  EXPECT_EQ(model.members(), 10);
  const auto members = model.row_members();
  ASSERT_EQ(std::ssize(members),
            5 * (joined + mixture["members_of_fold"].get<std::int64_t>()));
  // Those of an ordinary fit, and then members.
  auto ordinary = request;
  ordinary.data.dependence = {};
  ordinary.data.split_by.reset();
  ordinary.train.schedule = Schedule::baseline;
  ordinary.replicas.count = 2;
  ordinary.per_fold = joined;
  ordinary.row_flows = false;
  const auto alone = fit_into(ordinary, "ordinary").model;
  const auto rows = read_fit_rows(request.data, request.flow).train.data;
  std::vector<Array> densities;
  for (std::int64_t i = 0; i < alone.members(); ++i) {
    const auto own = alone.member(i).row_log_density(rows, {});
    EXPECT_TRUE(
        nd::equal(members[static_cast<std::size_t>(i)].row_log_density(rows, {}), own));
  }
  for (const auto& member : members) {
    densities.push_back(member.row_log_density(rows, {}));
  }
  EXPECT_TRUE(nd::allclose(model.row_log_density(rows, {}),
                           mixture_log_density(nd::stack(densities)), 0, 1e-12));
  const auto loaded = load_model(folder_.path("run/model.safetensors"));
  EXPECT_TRUE(
      nd::equal(loaded.row_log_density(rows, {}), model.row_log_density(rows, {})));
  auto without = request;
  without.row_flows = false;
  const auto plain = fit_into(without, "plain").model;
  EXPECT_TRUE(plain.row_parts.empty());
  EXPECT_TRUE(nd::equal(plain.member_latents(rows, {}).latents,
                        model.member_latents(rows, {}).latents));
}

TEST_F(CrossFitted, FlowsOfSeveralKindsAreChosenByTheirHeldOutRows) {
  auto request = request_for(std::vector<int>(60, 4));
  request.vary_flow = true;
  request.replicas.count = 6;
  request = with_defaults(request);
  const auto choices = flow_choices(request);
  ASSERT_EQ(choices.size(), 4u);
  FoldedTraining training({request}, silent_);
  while (!training.finished()) training.run_epoch();
  const auto result = training.finish(0, new_run_record(request), silent_);
  const auto& model = result.model;
  ASSERT_EQ(model.members(), 10);
  // The best two of each fold by the scores in the history, whatever their kind.
  std::map<std::int64_t, std::map<std::int64_t, double>> best;
  for (const auto& record : training.history()) {
    auto& lowest =
        best[record.fold].try_emplace(record.replica, HUGE_VAL).first->second;
    lowest = std::min(lowest, record.valid_nll_nats);
  }
  std::vector<const ModelPart*> part_of_member;
  for (const auto& part : model.parts) {
    part_of_member.insert(part_of_member.end(),
                          static_cast<std::size_t>(part.members()), &part);
  }
  for (std::size_t i = 0; i < 10; ++i) {
    const auto& member = model.record["members"][i];
    const auto& scores = best.at(static_cast<std::int64_t>(i / 2));
    ASSERT_EQ(scores.size(), 6u);
    const auto replica = member["replica"].get<std::int64_t>();
    const auto score = scores.at(replica);
    const auto better =
        std::count_if(scores.begin(), scores.end(),
                      [&](const auto& one) { return one.second < score; });
    // Untrained flows of two kinds may score the same.
    EXPECT_LE(better, static_cast<std::ptrdiff_t>(i % 2));
    const auto& choice = choices[static_cast<std::size_t>(replica % 4)];
    const auto& part = *part_of_member[i];
    EXPECT_EQ(part.flow->options().kind, choice.flow.kind);
    EXPECT_EQ(part.flow->options().hidden, choice.flow.hidden);
    EXPECT_EQ(part.standardization.decorrelation.defined(), choice.decorrelate);
  }
  // Threads change nothing, and neither do files.
  auto on_three = request;
  on_three.threads = 3;
  const auto other = fit_into(on_three, "three");
  const auto loaded = load_model(folder_.path("three/model.safetensors"));
  const auto rows = read_fit_rows(request.data, request.flow).train.data;
  EXPECT_TRUE(
      nd::equal(loaded.row_log_density(rows, {}), model.row_log_density(rows, {})));
  EXPECT_TRUE(
      nd::equal(loaded.to_latent(rows, {}).latents, model.to_latent(rows, {}).latents));
}

TEST_F(CrossFitted, NearlyCollinearColumnsAreDecorrelated) {
  // Columns whose correlation is almost all: uncorrelated columns are the right start.
  Random random(3);
  std::string text = "x1,x2,x3,group\n";
  for (int i = 0; i < 240; ++i) {
    const double a = random.normal(), b = a + 0.03 * random.normal();
    text += fmt::format("{},{},{},g{}\n", a, b, a - b + 0.02 * random.normal(), i / 4);
  }
  FitRequest request;
  request.data.table = folder_.write("train.csv", text);
  request.data.dependence.group = "group";
  request.data.dependence.correlation = BlockCorrelation::shared;
  request.train.epochs = 6;
  request.vary_flow = true;
  request.replicas.count = 4;
  const auto result = fit_into(request, "run");
  EXPECT_EQ(result.model.record["members"][0]["replica"], 3);
  ASSERT_TRUE(result.model.map);
  EXPECT_TRUE(result.model.map->standardization.decorrelation.defined());
}

TEST_F(CrossFitted, AGridChoosesOverFoldsWithAndWithoutRepeats) {
  // The fold that holds out the only group with repeats has no correlation to try.
  std::vector<int> sizes(60, 1);
  sizes[0] = 20;
  auto request = request_for(sizes);
  request.train.schedule = Schedule::grid;
  request.train.grid = {0.1, 0.5, 0.9};
  request.replicas.count = 2;
  FoldedTraining training({with_defaults(request)}, silent_);
  for (std::int64_t fold = 0; fold < training.folds(); ++fold) {
    EXPECT_EQ(
        training.groups().of(static_cast<std::size_t>(fold), 0).trainer().replicas(),
        6);
  }
  while (!training.finished()) training.run_epoch();
  const auto result = training.finish(0, new_run_record(training.request(0)), silent_);
  const auto replica = result.model.record["map"]["replica"].get<std::size_t>();
  EXPECT_EQ(result.model.dependence.parameters[0], request.train.grid[replica % 3]);
}

TEST_F(CrossFitted, ARestoredTrainingGoesOnToTheSameModel) {
  const auto request = with_defaults(request_for(std::vector<int>(30, 4)));
  FoldedTraining whole({request}, silent_), stopped({request}, silent_);
  for (int epoch = 0; epoch < 3; ++epoch) stopped.run_epoch();
  FoldedTraining resumed({request}, silent_);
  resumed.restore(stopped.state());
  EXPECT_EQ(resumed.epochs_done(), 3);
  EXPECT_EQ(resumed.history().size(), stopped.history().size());
  while (!whole.finished()) whole.run_epoch();
  while (!resumed.finished()) resumed.run_epoch();
  const auto record = new_run_record(request);
  const auto first = whole.finish(0, record, silent_);
  const auto second = resumed.finish(0, record, silent_);
  ASSERT_EQ(first.model.parts.size(), second.model.parts.size());
  for (std::size_t i = 0; i < first.model.parts.size(); ++i) {
    EXPECT_TRUE(nd::equal(first.model.parts[i].flow->values(),
                          second.model.parts[i].flow->values()));
  }
  EXPECT_TRUE(
      nd::equal(first.model.map->flow->values(), second.model.map->flow->values()));
  EXPECT_EQ(first.model.record, second.model.record);
}

TEST(MeanByUnits, StandardErrorIsThatOfIndependentUnits) {
  // Units that repeat one value are worth one row each.
  const std::vector<double> values = {1, 1, 1, 3, 3, 2, 2, 2, 2};
  const std::vector<std::int64_t> units = {0, 0, 0, 1, 1, 2, 2, 2, 2};
  const std::vector<double> weights = {1. / 3, 1. / 3, 1. / 3, .5, .5,
                                       .25,    .25,    .25,    .25};
  const auto found = weighted_mean_by_units(values, weights, units);
  EXPECT_NEAR(found.mean, 2, 1e-12);
  EXPECT_NEAR(found.standard_error, std::sqrt(1.0 / 3), 1e-12);
  EXPECT_TRUE(
      std::isnan(weighted_mean_by_units({1, 2}, {1, 1}, {0, 0}).standard_error));
}

}  // namespace
}  // namespace kinflow
