// Scores of rows and of learned correlations.
#include "kinflow/evaluate/likelihood.h"

#include <fmt/format.h>

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/flow/density.h"
#include "kinflow/statistics/bits_per_dimension.h"

namespace kinflow {
namespace {

// Means over rows, and checks that they are finite.
Likelihood summarize(const Array& density, const TableRows& rows) {
  check_finite_density(density, rows);
  RunningMean mean;
  mean.add(density);
  auto result = likelihood_of(mean, rows.data.size(1));
  result.row_log_density_nats = density;
  return result;
}

// log p of latents [m, p] under a conditional law.
double dense_log_density(const ConditionalLaw& law, const Array& latents) {
  const auto [root, info] = nd::linalg_cholesky_ex(law.covariance);
  if (info.any().item<bool>()) {
    throw NumericalError(
        "the covariance of the rows given the observed ones is not positive definite");
  }
  // With one covariance for all columns these are the right sides of one system.
  const auto distinct = root.size(0);
  const auto right = (latents - law.mean).t().reshape({distinct, -1, latents.size(0)});
  const auto whitened =
      nd::linalg_solve_triangular(root, right.transpose(1, 2), /*upper=*/false);
  return (standard_normal_log_density(whitened).sum() -
          static_cast<double>(latents.size(1)) *
              root.diagonal(0, 1, 2).log().sum(1).mean())
      .item<double>();
}

double finite_joint(const Array& joint) {
  const double value = joint.item<double>();
  if (std::isfinite(value)) return value;
  throw NumericalError("the joint log-density is not finite");
}

// Of the latents of all members, those of one.
LatentResult of_member(const LatentResult& all, std::int64_t member) {
  return {.latents = all.latents[member], .log_abs_det = all.log_abs_det[member]};
}

// one(law, member) for every member, [K].
template <typename One>
Array for_members(const RowLaws& laws, const One& one) {
  std::vector<double> values;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    values.push_back(one(laws[i], static_cast<std::int64_t>(i)));
  }
  return nd::tensor(values, nd::kDouble);
}

// Joint log-densities of all rows under each member, [K].
Array joint_log_densities(const RowLaws& laws, const LatentResult& latents) {
  return for_members(laws, [&](const RowLaw& own, std::int64_t member) {
    return joint_log_density(*own.law, own.parameters, of_member(latents, member));
  });
}

// The same of the first rows of laws, by a matrix of all rows.
Array first_log_densities(const RowLaws& laws, const LatentResult& first) {
  const auto count = first.latents.size(1);
  return for_members(laws, [&](const RowLaw& own, std::int64_t member) {
    const auto latents = of_member(first, member);
    const auto covariance =
        own.law->covariance(own.parameters).narrow(1, 0, count).narrow(2, 0, count);
    return dense_log_density({.rows = {},
                              .mean = nd::zeros_like(latents.latents),
                              .covariance = covariance},
                             latents.latents) +
           latents.log_abs_det.sum().item<double>();
  });
}

// The log-density of every row by itself given observed rows under one member, [m].
Array row_log_density_given(const RowLaw& own, const Array& known,
                            const LatentResult& latents) {
  const auto given = own.law->condition_rows(
      own.parameters, nd::arange(known.size(0), nd::kLong), known);
  const auto deviation = given.variance.sqrt();
  return standard_normal_log_density((latents.latents - given.mean) / deviation) -
         static_cast<double>(latents.latents.size(1)) * deviation.log().mean(1) +
         latents.log_abs_det;
}

// The joint log-densities of the given rows of each block under each member, [K, B].
Array block_log_densities(const RowLaws& laws, const Array& rows,
                          const LatentResult& latents) {
  std::vector<Array> of_members;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const auto& own = laws[i];
    const auto member = of_member(latents, static_cast<std::int64_t>(i));
    of_members.push_back(
        log_density_by_block(*own.law, own.parameters, rows, member.latents)
            .index_add(0, blocks_of(*own.law)->block_of_row().index_select(0, rows),
                       member.log_abs_det));
  }
  return nd::stack(of_members);
}

}  // namespace

void RunningMean::add(const Array& values) {
  const auto numbers = values.contiguous();
  const double* number = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    ++count;
    const double before = number[i] - mean;
    mean += before / static_cast<double>(count);
    squares += before * (number[i] - mean);
  }
}

Likelihood likelihood_of(const RunningMean& log_density, std::int64_t columns) {
  const auto count = static_cast<double>(log_density.count);
  Likelihood result{.rows = log_density.count,
                    .mean_nll_nats = -log_density.mean,
                    .row_log_density_nats = {},
                    .joint_log_density_nats = {}};
  if (log_density.count > 1) {
    result.standard_error_nats = std::sqrt(log_density.squares / (count - 1) / count);
  }
  result.bits_per_dimension = bits_per_dimension(log_density.mean, columns);
  return result;
}

void check_finite_density(const Array& density, const TableRows& rows) {
  const auto bad = nd::isfinite(density).logical_not();
  if (!bad.any().item<bool>()) return;
  const auto first = bad.to(nd::kLong).argmax().item<std::int64_t>();
  throw NumericalError(fmt::format(
      "the density of row {} of the table is not finite: is it far outside the "
      "training data?",
      rows.first_row + rows.kept_rows.at(static_cast<std::size_t>(first)) + 1));
}

Likelihood evaluate_likelihood(const Model& model, const TableRows& rows,
                               const RowLaws* laws) {
  const auto latents = model.member_latents(rows.data, rows.context);
  auto result =
      summarize(model.row_parts.empty()
                    ? mixture_log_density(standard_normal_log_density(latents.latents) +
                                          latents.log_abs_det)
                    : model.row_log_density(rows.data, rows.context),
                rows);
  if (laws != nullptr && blocks_of(*laws->front().law) != nullptr) {
    result.joint_log_density_nats =
        finite_joint(mixture_log_density(
                         block_log_densities(
                             *laws, nd::arange(rows.data.size(0), nd::kLong), latents))
                         .sum());
  } else if (laws != nullptr) {
    result.joint_log_density_nats =
        finite_joint(mixture_log_density(joint_log_densities(*laws, latents)));
  }
  return result;
}

Array member_log_weights(const LatentResult& observed, const RowLaws& laws,
                         const RowLaws* observed_laws) {
  if (laws.size() == 1) return nd::zeros({1}, nd::kDouble);
  const auto densities = observed_laws != nullptr
                             ? joint_log_densities(*observed_laws, observed)
                             : first_log_densities(laws, observed);
  finite_joint(densities.logsumexp(0));
  return densities.log_softmax(0);
}

Array member_log_weights_by_block(const LatentResult& observed, const RowLaws& laws) {
  return block_log_densities(laws, nd::arange(observed.latents.size(1), nd::kLong),
                             observed)
      .log_softmax(0);
}

Likelihood evaluate_given(const Model& model, const TableRows& observed,
                          const TableRows& rows, const RowLaws& laws,
                          const RowLaws* observed_laws) {
  const auto known = model.member_latents(observed.data, observed.context);
  const auto latents = model.member_latents(rows.data, rows.context);
  const LatentResult all{
      .latents = nd::cat({known.latents, latents.latents}, 1),
      .log_abs_det = nd::cat({known.log_abs_det, latents.log_abs_det}, 1)};
  Array weights, joint;  // [K] or [K, m]
  if (const auto* blocks = blocks_of(*laws.front().law)) {
    const auto observed_count = observed.data.size(0);
    const auto densities =
        block_log_densities(laws, nd::arange(observed_count, nd::kLong), known);
    const auto of_all =
        block_log_densities(laws, nd::arange(blocks->rows(), nd::kLong), all);
    joint = (of_all.logsumexp(0) - densities.logsumexp(0)).sum();
    weights = densities.log_softmax(0).index_select(
        1, blocks->block_of_row().slice(0, observed_count));
  } else if (observed_laws != nullptr) {
    const auto densities = joint_log_densities(*observed_laws, known);
    weights = densities.log_softmax(0);
    joint = joint_log_densities(laws, all).logsumexp(0) - densities.logsumexp(0);
  } else {
    weights = member_log_weights(known, laws, nullptr);
    const auto first = nd::arange(observed.data.size(0), nd::kLong);
    const auto given = for_members(laws, [&](const RowLaw& own, std::int64_t member) {
      const auto unknown = of_member(latents, member);
      return dense_log_density(
                 own.law->condition(own.parameters, first, known.latents[member]),
                 unknown.latents) +
             unknown.log_abs_det.sum().item<double>();
    });
    joint = (given + weights).logsumexp(0);
  }
  std::vector<Array> densities;
  for (std::int64_t member = 0; member < model.members(); ++member) {
    densities.push_back(row_log_density_given(laws[static_cast<std::size_t>(member)],
                                              known.latents[member],
                                              of_member(latents, member)));
  }
  auto result = summarize(
      (nd::stack(densities) + weights.view({model.members(), -1})).logsumexp(0), rows);
  result.joint_log_density_nats = finite_joint(joint);
  return result;
}

}  // namespace kinflow
