// Models of several members: densities, conditional laws and draws of the mixture
// against sums written by hand and dense algebra.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/evaluate/sample.h"
#include "kinflow/evaluate/stream.h"
#include "rows_in_groups.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

/// A mixture of members with different weights and dependence parameters.
Model mixture(const LearnedDependence& dependence,
              const std::vector<std::vector<double>>& further_parameters) {
  Model model{.columns = {"a", "b"},
              .context_columns = {},
              .parts = {},
              .dependence = dependence,
              .further_parameters = further_parameters,
              .record = {}};
  model.parts.push_back(
      {.standardization = {nd::tensor({1.0, -2.0}, nd::kDouble),
                           nd::tensor({0.5, 3.0}, nd::kDouble)},
       .context_standardization = {},
       .flow = std::make_unique<Flow>(
           FlowOptions{.dimension = 2, .hidden = {8}, .bins = 4, .bound = 4},
           std::vector<std::uint64_t>(further_parameters.size() + 1, 1), nd::kDouble)});
  // Smooth enough for the grid of plane().
  model.parts[0].flow->values() +=
      normal(model.parts[0].flow->values().sizes().vec(), 1) * 0.15;
  return model;
}

Model three_members() { return mixture(kBlocks, {{0.1, 0.6}, {0.4, 0.9}}); }

/// The members as one, K times.
Model identical_members(std::int64_t count) {
  auto model =
      mixture(kBlocks, std::vector<std::vector<double>>(
                           static_cast<std::size_t>(count - 1), kBlocks.parameters));
  model.parts[0].flow->values().copy_(
      model.parts[0].flow->values().narrow(0, 0, 1).clone().expand_as(
          model.parts[0].flow->values()));
  return model;
}

double log_mean_exp(const std::vector<double>& logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double value : logs) sum += std::exp(value - largest);
  return largest + std::log(sum / static_cast<double>(logs.size()));
}

/// Of the chosen rows, log p under each member from the dense covariance of all.
std::vector<double> dense_joints(const Model& model, const Array& data,
                                 const RowLaws& laws,
                                 const std::vector<std::int64_t>& chosen) {
  const auto index = nd::tensor(chosen, nd::kLong);
  std::vector<double> joints;
  for (std::int64_t k = 0; k < model.members(); ++k) {
    const auto& own = laws[static_cast<std::size_t>(k)];
    const auto covariance =
        own.law->covariance(own.parameters)[0].index_select(0, index).index_select(
            1, index);
    const auto result = model.member(k).to_latent(data.index_select(0, index), {});
    const auto& u = result.latents;
    joints.push_back(result.log_abs_det.sum().item<double>() -
                     0.5 * (u * nd::linalg_solve(covariance, u)).sum().item<double>() -
                     std::get<1>(nd::linalg_slogdet(covariance)).item<double>() -
                     static_cast<double>(chosen.size()) * std::log(2 * M_PI));
  }
  return joints;
}

/// Points of a grid over nearly all of the mass, and the area that each stands for.
std::pair<Array, double> plane(std::int64_t side = 1000) {
  const double half = 6.5;
  const double cell = 2 * half / static_cast<double>(side);
  const auto axis = nd::arange(side, nd::kDouble).add(0.5).mul(cell).sub(half);
  const auto points = nd::stack({axis.repeat({side}), axis.repeat_interleave(side)}, 1);
  return {points * nd::tensor({0.5, 3.0}, nd::kDouble) +
              nd::tensor({1.0, -2.0}, nd::kDouble),
          cell * cell * 0.5 * 3.0};
}

TEST(Mixture, DensityIsTheLogarithmOfTheMeanDensityOfItsMembers) {
  const auto model = three_members();
  auto rows = some_rows({"", "", "", "", ""});
  rows.data[4] = nd::tensor({300.0, -4000.0}, nd::kDouble);  // exp() alone would be 0
  const auto density = model.row_log_density(rows.data, {});
  const auto scored = evaluate_likelihood(model, rows).row_log_density_nats;
  for (std::int64_t i = 0; i < 5; ++i) {
    std::vector<double> logs;
    for (std::int64_t k = 0; k < 3; ++k) {
      logs.push_back(model.member(k).row_log_density(rows.data, {})[i].item<double>());
    }
    const double scale = std::max(1.0, std::abs(logs[0]));
    EXPECT_NEAR(density[i].item<double>(), log_mean_exp(logs), 1e-12 * scale);
    EXPECT_NEAR(scored[i].item<double>(), log_mean_exp(logs), 1e-12 * scale);
  }
}

TEST(Mixture, DensityIntegratesToOne) {
  const auto [points, area] = plane();
  EXPECT_NEAR(
      three_members().row_log_density(points, {}).exp().sum().item<double>() * area, 1,
      1e-3);
}

TEST(Mixture, OfIdenticalMembersIsOneMember) {
  const auto model = identical_members(4);
  const auto one = model.member(2);
  const auto observed = some_rows({"x", "y", "x"});
  const auto rows = some_rows({"x", "new", "y"}, 2);
  const auto both = append_rows(observed, rows);
  EXPECT_TRUE(nd::allclose(model.row_log_density(rows.data, {}),
                           one.row_log_density(rows.data, {}), 0, 1e-12));
  const auto score = [&](const Model& scored) {
    const auto laws = laws_of_groups(scored, both);
    const auto observed_laws = laws_of_groups(scored, observed);
    return std::pair{evaluate_likelihood(scored, both, &laws),
                     evaluate_given(scored, observed, rows, laws, &observed_laws)};
  };
  const auto [all, given] = score(model);
  const auto [all_of_one, given_of_one] = score(one);
  EXPECT_NEAR(*all.joint_log_density_nats, *all_of_one.joint_log_density_nats, 1e-12);
  EXPECT_NEAR(all.mean_nll_nats, all_of_one.mean_nll_nats, 1e-12);
  EXPECT_NEAR(*given.joint_log_density_nats, *given_of_one.joint_log_density_nats,
              1e-12);
  EXPECT_NEAR(given.mean_nll_nats, given_of_one.mean_nll_nats, 1e-12);
}

TEST(Mixture, JointDensityOfEveryBlockIsTheMeanOfTheMembersJointDensities) {
  const auto model = three_members();
  const auto rows = some_rows({"x", "new", "y", "x", "y", "new"});
  const auto laws = laws_of_groups(model, rows);
  const auto result = evaluate_likelihood(model, rows, &laws);
  const auto joint = [&](const std::vector<std::int64_t>& block) {
    return log_mean_exp(dense_joints(model, rows.data, laws, block));
  };
  EXPECT_NEAR(*result.joint_log_density_nats,
              joint({0, 3}) + joint({1, 5}) + joint({2, 4}), 1e-9);
}

TEST(Mixture, RowsGivenObservedOnesFollowTheConditionalLaw) {
  const auto model = three_members();
  const auto observed = some_rows({"x", "y", "x"});
  const auto rows = some_rows({"x", "new", "y"}, 2);
  const auto both = append_rows(observed, rows);
  const auto laws = laws_of_groups(model, both);
  const auto observed_laws = laws_of_groups(model, observed);
  const auto joint = [&](const std::vector<std::int64_t>& chosen) {
    return log_mean_exp(dense_joints(model, both.data, laws, chosen));
  };
  // A block is drawn from one member, and tells nothing of the others' members.
  const std::vector<double> expected = {joint({0, 2, 3}) - joint({0, 2}), joint({4}),
                                        joint({1, 5}) - joint({1})};
  for (const auto* known : {&observed_laws, static_cast<const RowLaws*>(nullptr)}) {
    const auto result = evaluate_given(model, observed, rows, laws, known);
    EXPECT_NEAR(*result.joint_log_density_nats, expected[0] + expected[1] + expected[2],
                1e-9);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(result.row_log_density_nats[i].item<double>(),
                  expected[static_cast<std::size_t>(i)], 1e-9);
    }
  }
}

TEST(Mixture, EveryMemberHasItsOwnDecayOfTime) {
  const auto model = mixture({.kind = DependenceKind::time, .parameters = {0.2, 0.5}},
                             {{0.3, 2.0}, {0.4, 0.5}});
  RowRelations relations;
  relations.rows = 4;
  relations.times = {0, 0.5, 2, 2.5};
  DependenceRequest request;
  request.time = "t";
  request = model.dependence.request_for_new_rows(request, {});
  Logger silent;
  const auto laws = make_row_laws(model, request, relations, {}, silent);
  ASSERT_EQ(laws.size(), 3u);
  const auto correlation = [&](std::size_t k) {
    return laws[k].law->covariance(laws[k].parameters)[0][0][1].item<double>();
  };
  EXPECT_NEAR(correlation(0), 0.8 * std::exp(-0.5 * 0.5), 1e-12);
  EXPECT_NEAR(correlation(1), 0.7 * std::exp(-2.0 * 0.5), 1e-12);
  EXPECT_NEAR(correlation(2), 0.6 * std::exp(-0.5 * 0.5), 1e-12);
  EXPECT_EQ(laws[0].law, laws[2].law);
}

class MixtureDraws : public testing::Test {
 protected:
  std::string draw(const Model& model, std::int64_t rows, const StreamOptions& options,
                   const std::string& name = "s.npy") {
    const auto path = folder_.path(name);
    draw_table(model, {.rows = rows, .table = {}, .id = {}, .out = path, .seed = 5},
               options, silent_);
    return path;
  }
  static Array numbers(const std::string& path) {
    return read_rows(path, {.columns = {"x1", "x2"}}).data;
  }

  const TemporaryFolder folder_;
  Logger silent_;
};

TEST_F(MixtureDraws, IndependentRowsHaveTheMomentsOfTheMixture) {
  const auto model = three_members();
  const std::int64_t n = 200'000;
  const auto sample = numbers(draw(model, n, {.threads = 2}));
  const auto [points, area] = plane();
  const auto mass = model.row_log_density(points, {}).exp().mul(area).unsqueeze(1);
  const auto features = [](const Array& rows) {
    const auto centred = (rows - nd::tensor({1.0, -2.0}, nd::kDouble)) /
                         nd::tensor({0.5, 3.0}, nd::kDouble);
    return nd::cat({centred, centred.square(),
                    (centred.select(1, 0) * centred.select(1, 1)).unsqueeze(1)},
                   1);
  };
  const auto expected = (features(points) * mass).sum(0);
  const auto drawn = features(sample);
  const auto error = drawn.std(0) / std::sqrt(static_cast<double>(n));
  EXPECT_LT(((drawn.mean(0) - expected) / error).abs().max().item<double>(), 5);
  // No member alone has these moments.
  for (std::int64_t k = 0; k < 3; ++k) {
    const auto own =
        model.member(k).row_log_density(points, {}).exp().mul(area).unsqueeze(1);
    EXPECT_GT((((features(points) * own).sum(0) - expected) / error)
                  .abs()
                  .max()
                  .item<double>(),
              10);
  }
}

TEST_F(MixtureDraws, AreTheSameForAnyNumberOfThreadsAndAnyPieces) {
  const auto model = three_members();
  const auto one = content_of(draw(model, 40'000, {.threads = 1}));
  EXPECT_TRUE(one == content_of(draw(model, 40'000, {.threads = 4})));
  const auto whole = numbers(draw(model, 500, {.threads = 1}));
  for (const std::int64_t rows : {1, 7, 64}) {
    EXPECT_TRUE(nd::allclose(
        whole, numbers(draw(model, 500, {.threads = 4, .rows_at_once = rows})), 0,
        1e-12));
  }
}

TEST_F(MixtureDraws, RowsOfATableKeepTheirContext) {
  auto model = three_members();
  auto options = model.parts[0].flow->options();
  options.context = 1;
  model.context_columns = {"c"};
  model.parts[0].context_standardization = {nd::zeros({1}, nd::kDouble),
                                            nd::ones({1}, nd::kDouble)};
  model.parts[0].flow =
      std::make_unique<Flow>(options, std::vector<std::uint64_t>{1, 2, 3}, nd::kDouble);
  model.parts[0].flow->values() +=
      normal(model.parts[0].flow->values().sizes().vec(), 2) * 0.15;
  std::string text = "c\n";
  for (int i = 0; i < 60; ++i) text += std::to_string(std::sin(i)) + "\n";
  const auto table = folder_.write("t.csv", text);
  const auto out = folder_.path("s.csv");
  draw_table(model, {.rows = 0, .table = table, .id = {}, .out = out, .seed = 5},
             {.threads = 3, .rows_at_once = 7}, silent_);
  const auto drawn = read_rows(out, {.columns = {"a", "b"}, .context = {"c"}});
  Random random(5, stream(Purpose::draws));
  const auto latents = Independent(60).sample(nd::empty({0}, nd::kDouble), 2, random);
  auto matches = nd::zeros({60}, nd::kLong);
  for (std::int64_t k = 0; k < 3; ++k) {
    const auto own = model.member(k).from_latent(latents, drawn.context);
    const auto same = (own - drawn.data).abs().amax(1).lt(1e-10);
    EXPECT_GT(same.sum().item<std::int64_t>(), 5);
    matches += same.to(nd::kLong);
  }
  EXPECT_TRUE(matches.eq(1).all().item<bool>());
}

TEST(MixtureOfLaws, EveryBlockIsDrawnFromAMemberOfItsOwn) {
  // Members with the same flow: under the second, rows of a block are nearly equal.
  auto model = identical_members(2);
  model.dependence.parameters = {0.0, 0.0};
  model.further_parameters = {{1 - 1e-9, 1 - 1e-9}};
  const auto laws = laws_of_groups(model, some_rows({"x", "y", "x", "y"}));
  // How often both blocks, the first alone, the second alone and none are of the
  // second.
  std::vector<double> counts(4, 0);
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const auto latents =
        model.to_latent(sample_dependent(model, laws, {}, random), {}).latents;
    const auto is_equal = [&](std::int64_t a, std::int64_t b) {
      return (latents[a] - latents[b]).abs().max().item<double>() < 1e-3;
    };
    ++counts[static_cast<std::size_t>((is_equal(0, 2) ? 0 : 2) +
                                      (is_equal(1, 3) ? 0 : 1))];
  }
  for (const double count : counts)
    EXPECT_NEAR(count, 100, 5 * std::sqrt(400 * 3 / 16.));
}

TEST(MixtureOfLaws, FurtherRowsComeFromAMemberByItsWeightGivenTheObservedOnes) {
  // Two members with the same flow: which one it was shows in the shared part alone.
  auto model = identical_members(2);
  model.dependence.parameters = {0.95, 0.95};
  model.further_parameters = {{0.0, 0.0}};
  auto observed = some_rows({"x", "x"});
  // Rows that are as alike as independent ones seldom are.
  observed.data = model.from_latent(
      nd::tensor({1.3, -0.5, 0.9, -0.2}, nd::kDouble).view({2, 2}), {});
  const auto both = append_rows(observed, some_rows({"x"}, 2));
  const auto laws = laws_of_groups(model, both);
  const auto observed_laws = laws_of_groups(model, observed);
  const auto densities = dense_joints(model, both.data, laws, {0, 1});
  const double weight = 1 / (1 + std::exp(densities[1] - densities[0]));
  ASSERT_GT(weight, 0.7);
  ASSERT_LT(weight, 0.99);
  const auto weights =
      member_log_weights(model.member_latents(observed.data, {}), laws, &observed_laws)
          .exp();
  EXPECT_NEAR(weights[0].item<double>(), weight, 1e-10);
  // Under the second member the further row does not know of the others: its first
  // latent has mean 0 in place of about 1.1 with a deviation of 0.2.
  const int draws = 2000;
  double sum = 0;
  for (int seed = 0; seed < draws; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const auto drawn = sample_given(model, observed, laws, &observed_laws, {}, random);
    sum += model.to_latent(drawn, {}).latents[0][0].item<double>();
  }
  const double mean = 2 * 0.95 / (1 + 0.95) * (1.3 + 0.9) / 2;
  EXPECT_NEAR(sum / draws, weight * mean, 5 * 0.7 / std::sqrt(draws));
}

TEST_F(MixtureDraws, TransformIsThatOfTheFirstMember) {
  const auto model = three_members();
  const auto table = folder_.write("t.csv", "a,b\n1,2\n0.5,-4\n1.5,-1\n");
  transform_table(
      model,
      {.table = table, .out = folder_.path("u.npy"), .inverse = false, .keep = {}},
      {.threads = 1}, silent_);
  const auto rows = read_rows(table, {.columns = {"a", "b"}}).data;
  const auto expected = model.member(0).to_latent(rows, {}).latents;
  EXPECT_TRUE(nd::allclose(numbers(folder_.path("u.npy")), expected, 0, 1e-12));
  EXPECT_TRUE(nd::equal(model.to_latent(rows, {}).latents, expected));
  EXPECT_TRUE(nd::allclose(model.from_latent(expected, {}), rows, 0, 1e-9));
}

TEST_F(MixtureDraws, ScoresOfATableAreThoseOfTheMixture) {
  const auto model = three_members();
  const auto table = folder_.write("t.csv", "a,b\n1,2\n0.5,-4\n1.5,-1\n");
  const ColumnChoice columns{.columns = {"a", "b"}};
  const auto scores =
      score_table(model, {.table = table, .out = {}, .keep = {}, .columns = columns},
                  {.threads = 2, .rows_at_once = 2}, silent_);
  const auto density = model.row_log_density(read_rows(table, columns).data, {});
  EXPECT_NEAR(scores.mean_nll_nats, -density.mean().item<double>(), 1e-12);
}

}  // namespace
}  // namespace kinflow
