// Scores and draws of a model against dense algebra.
#include "kinflow/evaluate/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/evaluate/recovered_correlations.h"
#include "kinflow/evaluate/sample.h"
#include "rows_in_groups.h"

namespace kinflow {
namespace {

Model some_model(const LearnedDependence& dependence) {
  Model model{.columns = {"a", "b"},
              .context_columns = {},
              .parts = {},
              .dependence = dependence,
              .record = {}};
  model.parts.push_back({.standardization = {nd::tensor({1.0, -2.0}, nd::kDouble),
                                             nd::tensor({0.5, 3.0}, nd::kDouble)},
                         .context_standardization = {},
                         .flow = std::make_unique<Flow>(
                             FlowOptions{.dimension = 2, .hidden = {8}, .bins = 4},
                             std::vector<std::uint64_t>{1}, nd::kDouble)});
  model.parts[0].flow->values() +=
      normal(model.parts[0].flow->values().sizes().vec(), 1) * 0.2;
  return model;
}

// log p(X) from the dense covariance of the rows' latents.
double dense_joint(const Model& model, const Array& data, const Array& covariance) {
  const auto result = model.to_latent(data, {});
  const auto& latents = result.latents;
  const double quadratic =
      (latents * nd::linalg_solve(covariance, latents)).sum().item<double>();
  const double log_det = std::get<1>(nd::linalg_slogdet(covariance)).item<double>();
  return result.log_abs_det.sum().item<double>() - 0.5 * quadratic -
         0.5 * static_cast<double>(data.size(1)) * log_det -
         0.5 * static_cast<double>(data.numel()) * std::log(2 * M_PI);
}

TEST(Likelihood, JointOfBlocksUsesTheCorrelationOfEachLabel) {
  const auto model = some_model(kBlocks);
  const auto rows = some_rows({"x", "new", "y", "x", "y", "new"});
  const double typical = (2 * 0.7 + 1 * 0.2) / 3;
  auto covariance = nd::eye(6, nd::kDouble);
  const auto link = [&](std::int64_t i, std::int64_t j, double rho) {
    covariance[i][j] = rho;
    covariance[j][i] = rho;
  };
  link(0, 3, 0.7);
  link(2, 4, 0.2);
  link(1, 5, typical);
  const auto laws = laws_of_groups(model, rows);
  const auto result = evaluate_likelihood(model, rows, &laws);
  EXPECT_NEAR(*result.joint_log_density_nats, dense_joint(model, rows.data, covariance),
              1e-9);
  EXPECT_NEAR(result.mean_nll_nats * 6,
              -dense_joint(model, rows.data, nd::eye(6, nd::kDouble)), 1e-9);
}

TEST(Likelihood, JointOfARelationshipUsesLambda) {
  const auto model =
      some_model({.kind = DependenceKind::relationship, .parameters = {0.3}});
  const auto rows = some_rows({"", "", "", ""});
  const auto factor = normal({4, 4}, 2);
  const auto matrix = factor.matmul(factor.t());
  const auto covariance = 0.3 * nd::eye(4, nd::kDouble) + 0.7 * matrix;
  const RowLaws laws = {
      {.law = std::make_unique<Relationship>(matrix),
       .parameters = nd::tensor(model.dependence.parameters, nd::kDouble)}};
  const auto result = evaluate_likelihood(model, rows, &laws);
  EXPECT_NEAR(*result.joint_log_density_nats, dense_joint(model, rows.data, covariance),
              1e-8);
}

TEST(Likelihood, AModelWithoutTheParameterAsksForOne) {
  const auto model = some_model({});
  const auto rows = some_rows({"x", "x"});
  EXPECT_THROW(laws_of_groups(model, rows), InputError);
  EXPECT_NO_THROW(laws_of_groups(model, rows, {0.5}));
}

// log p(new | observed) is the difference of two joint densities, and a single row has
// its own conditional law.
TEST(Likelihood, RowsGivenObservedOnesFollowTheConditionalLaw) {
  const auto model = some_model(kBlocks);
  const auto observed = some_rows({"x", "y", "x"});
  const auto rows = some_rows({"x", "new", "y"}, 2);
  const auto both = append_rows(observed, rows);
  const auto laws = laws_of_groups(model, both);
  const auto observed_laws = laws_of_groups(model, observed);
  const auto covariance = laws[0].law->covariance(laws[0].parameters)[0];
  const auto part = [&](const std::vector<std::int64_t>& chosen) {
    const auto index = nd::tensor(chosen, nd::kLong);
    return dense_joint(model, both.data.index_select(0, index),
                       covariance.index_select(0, index).index_select(1, index));
  };
  const auto result = evaluate_given(model, observed, rows, laws, &observed_laws);
  EXPECT_NEAR(*result.joint_log_density_nats,
              part({0, 1, 2, 3, 4, 5}) - part({0, 1, 2}), 1e-9);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(result.row_log_density_nats[i].item<double>(),
                part({0, 1, 2, 3 + i}) - part({0, 1, 2}), 1e-9);
  }
  const auto dense = evaluate_given(model, observed, rows, laws, nullptr);
  EXPECT_NEAR(*dense.joint_log_density_nats, *result.joint_log_density_nats, 1e-9);
}

TEST(CorrelationError, CountsBlocksOnceAndThoseThatWereNotLearnedAsZero) {
  const auto learned = correlations_of(kBlocks, {"y", "x", "z"});
  EXPECT_EQ(learned.back(), 0);
  const auto error = correlation_error(learned, {0.5, 0.6, 0.1});
  EXPECT_NEAR(error.mean_absolute, (0.1 + 0.3 + 0.1) / 3, 1e-12);
  EXPECT_NEAR(error.mean_squared, (0.01 + 0.09 + 0.01) / 3, 1e-12);
  EXPECT_EQ(correlation_error({}, {}).mean_squared, 0);
}

double latent_correlation(const Model& model, const Array& first, const Array& second) {
  const auto a = model.to_latent(first, {}).latents;
  const auto b = model.to_latent(second, {}).latents;
  return (a * b).mean().item<double>();
}

std::vector<std::string> numbered_pairs(std::int64_t count) {
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < 2 * count; ++i) labels.push_back(std::to_string(i / 2));
  return labels;
}

TEST(Sample, RowsOfABlockHaveTheCorrelation) {
  const auto model = some_model(kBlocks);
  Random random(3);
  const auto sample = sample_dependent(
      model, laws_of_groups(model, some_rows(numbered_pairs(4000)), {0.6}), {}, random);
  const auto pairs = sample.view({4000, 2, 2});
  EXPECT_NEAR(latent_correlation(model, pairs.select(1, 0), pairs.select(1, 1)), 0.6,
              0.05);
  EXPECT_NEAR(latent_correlation(model, pairs.select(1, 0).narrow(0, 0, 3999),
                                 pairs.select(1, 0).narrow(0, 1, 3999)),
              0, 0.05);
}

TEST(Sample, FurtherRowsOfABlockFollowTheObservedOnes) {
  const auto model = some_model({.kind = DependenceKind::blocks,
                                 .column = "g",
                                 .labels = {"x", "y"},
                                 .sizes = {2, 2},
                                 .parameters = {0.9, 0.0}});
  const auto observed = some_rows({"x", "y"});
  std::vector<std::string> labels(4000, "x");
  labels.resize(8000, "y");
  const auto both = append_rows(observed, some_rows(labels));
  Random random(4);
  const auto sample =
      sample_given(model, observed, laws_of_groups(model, both), nullptr, {}, random);
  const auto seen = model.to_latent(observed.data, {}).latents;
  const auto drawn = model.to_latent(sample, {}).latents;
  const auto mean_x = drawn.narrow(0, 0, 4000).mean(0);
  const auto mean_y = drawn.narrow(0, 4000, 4000).mean(0);
  // The further rows share one common part, so their mean scatters around 0.9 u by the
  // conditional deviation of that part, sqrt(rho (1 - rho)) = 0.3.
  EXPECT_LT((mean_x - 0.9 * seen[0]).abs().max().item<double>(), 4 * 0.3);
  EXPECT_NEAR((drawn.narrow(0, 0, 4000) - mean_x).var().item<double>(), 0.1, 0.02);
  EXPECT_LT(mean_y.abs().max().item<double>(), 0.1);
}

}  // namespace
}  // namespace kinflow
