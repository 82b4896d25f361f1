// Shares of columns and correlations of shared parts against closed forms.
#include "kinflow/fit/shared_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/core/log.h"
#include "kinflow/dependence/markov_time.h"
#include "kinflow/dependence/relationship_sum.h"
#include "kinflow/model/group_draws.h"
#include "kinflow/model/share_information.h"
#include "tests/engine/small_trainings.h"

namespace kinflow {
namespace {

Array groups_of(std::int64_t groups, std::int64_t rows) {
  return nd::arange(groups, nd::kLong).repeat_interleave(rows);
}

// A model whose flow is the identity, of latents that `standardization` makes.
Model model_of(const Standardization& standardization, LearnedDependence dependence) {
  const auto columns = standardization.mean.size(0);
  Model model{.dependence = std::move(dependence)};
  for (std::int64_t j = 0; j < columns; ++j) {
    model.columns.push_back(std::string(1, static_cast<char>('a' + j)));
  }
  model.parts.push_back(
      {.standardization = standardization,
       .context_standardization = {},
       .flow = std::make_unique<Flow>(
           FlowOptions{.kind = FlowKind::affine, .dimension = columns, .hidden = {4}},
           std::vector<std::uint64_t>{1}, nd::kDouble)});
  return model;
}

Standardization plain(std::int64_t columns) {
  return {.mean = nd::full({columns}, 3.0, nd::kDouble),
          .deviation = nd::full({columns}, 2.0, nd::kDouble)};
}

LearnedDependence of_groups(std::int64_t groups, std::int64_t rows,
                            const std::vector<double>& rhos) {
  LearnedDependence learned{
      .kind = DependenceKind::blocks, .column = "g", .latents = std::ssize(rhos)};
  for (std::int64_t g = 0; g < groups; ++g) {
    learned.labels.push_back(std::to_string(g));
    learned.sizes.push_back(rows);
  }
  for (const double rho : rhos) {
    learned.parameters.insert(learned.parameters.end(), learned.labels.size(), rho);
  }
  return learned;
}

nlohmann::json parts_of_model(std::shared_ptr<const Dependence> law, Model& model,
                              const TableRows& rows = {},
                              const DependenceRequest& dependence = {.group = "g"}) {
  Logger silent;
  FitRequest request;
  request.data.dependence = dependence;
  add_shared_parts({.law = std::move(law)}, request, rows, model, silent);
  return model.record.is_null() ? nlohmann::json() : model.record.at("shared_parts");
}

nlohmann::json parts_of_groups(std::int64_t groups, std::int64_t rows,
                               const std::vector<double>& rhos, Model& model) {
  return parts_of_model(
      make_blocks(groups_of(groups, rows), {.correlation = BlockCorrelation::per_latent,
                                            .columns = std::ssize(rhos)}),
      model)[0];
}

TEST(SharedParts, OfALinearNormalModelHaveTheirClosedForm) {
  auto standardization = plain(3);
  const auto map =
      nd::tensor({1.0, 0.0, 0.0, 0.8, 0.6, 0.0, -0.5, 0.5, 0.7}, nd::kDouble)
          .view({3, 3});
  standardization.decorrelation = nd::linalg_inv(map);
  const std::vector<double> rhos = {0.9, 0.1, 0.4};
  auto model = model_of(standardization, of_groups(300, 6, rhos));
  const auto found = parts_of_groups(300, 6, rhos, model);
  const auto share = nd::tensor(rhos, nd::kDouble);
  const auto shared = nd::mm(map * share, map.t());
  const auto whole = nd::mm(map, map.t()).diagonal();
  ASSERT_EQ(found["columns"].size(), 3);
  for (std::int64_t j = 0; j < 3; ++j) {
    const auto& column = found["columns"][static_cast<std::size_t>(j)];
    const double icc = (shared[j][j] / whole[j]).item<double>();
    EXPECT_NEAR(column["share"], icc, 1e-6) << j;
    EXPECT_NEAR(column["of_normal_scores"]["share"], icc, 0.005) << j;
    EXPECT_LT(column["low"], icc);
    EXPECT_GT(column["high"], icc);
  }
  ASSERT_EQ(found["correlations"].size(), 3);
  EXPECT_EQ(found["correlations"][1]["columns"], (nlohmann::json{"a", "c"}));
  EXPECT_NEAR(found["correlations"][1]["correlation"],
              (shared[0][2] / (shared[0][0] * shared[2][2]).sqrt()).item<double>(),
              1e-6);
  EXPECT_EQ(found["share"], "share common to a group (ICC)");
}

TEST(SharedParts, IntervalsOfNormalColumnsHaveTheErrorOfTheAnalysisOfVariance) {
  const std::int64_t groups = 300, rows = 6;
  const std::vector<double> rhos = {0.7, 0.2};
  auto model = model_of(plain(2), of_groups(groups, rows, rhos));
  const auto found = parts_of_groups(groups, rows, rhos, model);
  const auto width = [](const nlohmann::json& estimate) {
    return estimate["high"].get<double>() - estimate["low"].get<double>();
  };
  const auto m = static_cast<double>(rows), n = static_cast<double>(groups);
  for (std::size_t j = 0; j < 2; ++j) {
    const double rho = rhos[j];
    const double error =
        (1 - rho) * (1 + (m - 1) * rho) * std::sqrt(2 / (m * (m - 1) * n));
    EXPECT_NEAR(width(found["columns"][j]), 2 * 1.96 * error, 0.2 * 3.92 * error);
  }
  // Of two columns without correlation: that of products of group means, and inside.
  const auto between = [&](double rho) { return rho + (1 - rho) / m; };
  const double variance =
      (between(0.7) * between(0.2) + 0.3 * 0.8 / (m * m * (m - 1))) / n / (0.7 * 0.2);
  EXPECT_NEAR(width(found["correlations"][0]), 3.92 * std::sqrt(variance),
              0.2 * 3.92 * std::sqrt(variance));
}

TEST(SharedParts, OfSkewedColumnsAreOnTheScaleOfTheColumn) {
  const double rho = 0.6, sigma = 0.5;
  const auto share = nd::full({1, 1}, rho, nd::kDouble);
  Array shared = nd::zeros({2}, nd::kDouble), variance = nd::zeros_like(shared);
  for (int batch = 0; batch < 100; ++batch) {
    Random random(1, static_cast<std::uint64_t>(batch));
    const auto latents =
        latents_of_groups(draw_group_numbers(1, random), {share, 1 - share});
    const auto moments = moments_of_groups((sigma * latents).exp(), false);
    shared += moments.shared_variance;
    variance += moments.variance;
  }
  const double squared = sigma * sigma;
  EXPECT_NEAR((shared / variance)[0].item<double>(),
              std::expm1(rho * squared) / std::expm1(squared), 0.01);
  EXPECT_NEAR((shared / variance)[1].item<double>(), rho, 0.005);
}

TEST(SharedParts, OfHeavyTailsAreThoseOfNormalScoresAlone) {
  auto standardization = plain(2);
  standardization.scores = {NormalScores::identity({-2, -1, 0, 1, 2}),
                            NormalScores::identity({-2, -1, 0, 1, 2})};
  standardization.scores[0].upper_growth = 4;
  const std::vector<double> rhos = {0.5, 0.5};
  auto model = model_of(standardization, of_groups(200, 4, rhos));
  const auto found = parts_of_groups(200, 4, rhos, model);
  EXPECT_FALSE(found["columns"][0].contains("share"));
  EXPECT_NEAR(found["columns"][0]["of_normal_scores"]["share"], 0.5, 0.005);
  EXPECT_NEAR(found["columns"][1]["share"], 0.5, 1e-6);
  EXPECT_NEAR(found["correlations"][0]["correlation"], 0, 0.02);
}

TEST(SharedParts, AreGivenTheContext) {
  const std::vector<double> rhos = {0.3};
  auto model = model_of(plain(1), of_groups(100, 5, rhos));
  model.context_columns = {"age"};
  model.parts[0].context_standardization = {nd::zeros({1}, nd::kDouble),
                                            nd::ones({1}, nd::kDouble)};
  model.parts[0].flow = std::make_unique<Flow>(
      FlowOptions{
          .kind = FlowKind::affine, .dimension = 1, .context = 1, .hidden = {4}},
      std::vector<std::uint64_t>{1}, nd::kDouble);
  auto& values = model.parts[0].flow->values();
  values.copy_(normal_numbers(values.sizes(), 3, 0.5));
  const TableRows rows{.data = {}, .context = normal_numbers({500, 1}, 4, 3)};
  const auto found = parts_of_model(
      make_blocks(groups_of(100, 5), {.correlation = BlockCorrelation::shared}), model,
      rows)[0];
  EXPECT_NEAR(found["columns"][0]["share"], 0.3, 0.005);
}

TEST(SharedParts, OfTimeAreCorrelationsOverOneStep) {
  const double lambda = 0.2, gamma = 0.3;
  const auto times = 2 * nd::arange(200, nd::kDouble);
  auto model = model_of(
      plain(2),
      {.kind = DependenceKind::time, .time_decay = 0, .parameters = {lambda, gamma}});
  TableRows rows;
  rows.times.values.assign(times.data_ptr<double>(),
                           times.data_ptr<double>() + times.numel());
  const auto found = parts_of_model(std::make_shared<MarkovTime>(times), model, rows,
                                    {.time = "t"})[0];
  EXPECT_NEAR(found["columns"][0]["share"], 0.8 * std::exp(-0.6), 1e-6);
  EXPECT_EQ(found["share"], "correlation over one step (2)");
}

TEST(SharedParts, OfASumAreOneForEachWay) {
  const auto group = groups_of(10, 4);
  const auto same = group.unsqueeze(0).eq(group.unsqueeze(1)).to(nd::kDouble);
  auto model = model_of(plain(2), {.kind = DependenceKind::sum,
                                   .parts = {"group", "relationship"},
                                   .parameters = {0.5, 0.2, 0.3}});
  const auto found =
      parts_of_model(std::make_shared<RelationshipSum>(
                         std::vector{SumPart(same), SumPart(dense_relationship(40))}),
                     model, {}, {.group = "g", .relationships = {"related.mtx"}});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0]["way"], "group");
  EXPECT_NEAR(found[0]["columns"][1]["share"], 0.2, 1e-6);
  EXPECT_EQ(found[1]["share"], "heritability");
  EXPECT_NEAR(found[1]["columns"][1]["share"], 0.3, 1e-6);
}

TEST(SharedParts, OfRowsThatDoNotDependAreNotThere) {
  auto model = model_of(plain(1), {});
  EXPECT_TRUE(parts_of_model(std::make_shared<Independent>(10), model).is_null());
}

TEST(SharedParts, OfMembersThatDifferHaveWiderIntervals) {
  const std::vector<double> rhos = {0.5};
  auto model = model_of(plain(1), of_groups(2000, 5, rhos));
  const auto width = [&] {
    const auto column = parts_of_groups(2000, 5, rhos, model)["columns"][0];
    EXPECT_NEAR(column["share"], 0.5, 1e-6);
    return column["high"].get<double>() - column["low"].get<double>();
  };
  const double of_one = width();
  for (const double rho : {0.4, 0.6}) {
    model.further_parameters.emplace_back(2000, rho);
    auto other = model_of(plain(1), {});
    model.parts.push_back(std::move(other.parts[0]));
  }
  EXPECT_GT(width(), of_one + 0.1);
}

// tr(C_j^-1 M C_l^-1 N), halved for j = l, with M and N of `ways`.
Array dense_information(const std::vector<Array>& covariances,
                        const std::vector<Array>& ways) {
  const auto p = std::ssize(covariances), q = std::ssize(ways);
  auto information = nd::empty({p, p, q, q}, nd::kDouble);
  for (std::int64_t j = 0; j < p; ++j) {
    for (std::int64_t l = 0; l < p; ++l) {
      for (std::int64_t r = 0; r < q; ++r) {
        for (std::int64_t s = 0; s < q; ++s) {
          const auto at_j = covariances[static_cast<std::size_t>(j)].inverse(),
                     at_l = covariances[static_cast<std::size_t>(l)].inverse();
          information[j][l][r][s] =
              (j == l ? 0.5 : 1) * at_j.mm(ways[static_cast<std::size_t>(r)])
                                       .mm(at_l)
                                       .mm(ways[static_cast<std::size_t>(s)])
                                       .trace();
        }
      }
    }
  }
  return information;
}

void expect_alike(const Array& found, const Array& expected) {
  EXPECT_LT(((found - expected) / expected).abs().max().item<double>(), 1e-3)
      << found << expected;
}

Array of_share(double own, const Array& shared) {
  return own * nd::eye(shared.size(0), nd::kDouble) + (1 - own) * shared;
}

TEST(ShareInformation, MatchesDenseAlgebra) {
  const auto identity = nd::eye(12, nd::kDouble);
  const auto block = nd::tensor({0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 3, 4}, nd::kLong);
  const auto same = block.unsqueeze(0).eq(block.unsqueeze(1)).to(nd::kDouble);
  LearnedDependence blocks{.kind = DependenceKind::blocks,
                           .labels = {"0", "1", "3"},
                           .sizes = {3, 2, 5},
                           .latents = 2,
                           .parameters = {0.9, 0.9, 0.9, 0.1, 0.1, 0.1}};
  expect_alike(
      share_information(
          *make_blocks(block,
                       {.correlation = BlockCorrelation::per_latent, .columns = 2}),
          blocks, 2, nd::kCPU),
      dense_information({of_share(0.1, same), of_share(0.9, same)}, {identity, same}));

  const auto related = dense_relationship(12);
  expect_alike(share_information(PerLatent(std::make_shared<Relationship>(related), 2),
                                 {.kind = DependenceKind::relationship,
                                  .latents = 2,
                                  .parameters = {0.3, 0.8}},
                                 2, nd::kCPU),
               dense_information({of_share(0.3, related), of_share(0.8, related)},
                                 {identity, related}));

  const auto sum = 0.5 * identity + 0.2 * same + 0.3 * related;
  expect_alike(share_information(RelationshipSum({SumPart(same), SumPart(related)}),
                                 {.kind = DependenceKind::sum,
                                  .parts = {"group", "relationship"},
                                  .parameters = {0.5, 0.2, 0.3}},
                                 2, nd::kCPU),
               dense_information({sum, sum}, {identity, same, related}));
}

}  // namespace
}  // namespace kinflow
