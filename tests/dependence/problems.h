// Random small problems of every dependence structure, for the oracle.
#pragma once

#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/gaussian_time.h"
#include "kinflow/dependence/grouped_latents.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/markov_time.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/dependence/relationship_matrices.h"
#include "kinflow/dependence/relationship_sum.h"
#include "kinflow/dependence/unstructured.h"
#include "tests/dependence/oracle.h"

namespace kinflow::oracle {

/// Blocks with rows in random order and labels that are neither dense nor sorted.
inline Problem blocks_problem(const std::vector<std::int64_t>& sizes,
                              BlockCorrelation correlation, Random& random) {
  std::vector<std::int64_t> sorted_labels;
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    sorted_labels.insert(sorted_labels.end(), static_cast<std::size_t>(sizes[b]),
                         static_cast<std::int64_t>(7 * b) - 10);
  }
  const auto n = static_cast<std::int64_t>(sorted_labels.size());
  std::vector<std::int64_t> labels;
  for (const std::int64_t i : random.permutation(n)) {
    labels.push_back(sorted_labels[static_cast<std::size_t>(i)]);
  }
  // One n x n matrix for each parameter, with 1 where it is the covariance.
  std::map<std::int64_t, Array> place_of_key;
  const Array label = whole_numbers(labels);
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    if (sizes[b] < 2) continue;
    const Array member =
        (label == static_cast<std::int64_t>(7 * b) - 10).to(nd::kDouble);
    const Array pairs = nd::outer(member, member) - nd::diag(member);
    const std::int64_t key = correlation == BlockCorrelation::shared ? 0
                             : correlation == BlockCorrelation::per_size
                                 ? sizes[b]
                                 : static_cast<std::int64_t>(b);
    Array& place = place_of_key[key];
    place = place.defined() ? place + pairs : pairs;
  }
  std::vector<Array> places;
  for (const auto& [key, place] : place_of_key) places.push_back(place);
  const auto covariance = [places, n](const Array& parameters) {
    Array result = nd::eye(n, nd::kDouble);
    for (std::size_t k = 0; k < places.size(); ++k) {
      result = result + parameters[static_cast<std::int64_t>(k)] * places[k];
    }
    return result;
  };
  return {correlation == BlockCorrelation::shared      ? "blocks, shared"
          : correlation == BlockCorrelation::per_block ? "blocks"
          : correlation == BlockCorrelation::pooled    ? "blocks, pooled"
                                                       : "blocks, per size",
          std::make_shared<Blocks>(
              label, BlocksOptions{.correlation = correlation, .columns = 2}),
          covariance, static_cast<std::int64_t>(places.size())};
}

/// A relationship matrix of the given rank whose diagonal is not 1.
inline Problem relationship_problem(std::int64_t n, std::int64_t rank, Random& random) {
  const Array factor = normal({n, rank}, random);
  const Array relationship = 1.7 / rank * nd::mm(factor, factor.t());
  const auto covariance = [relationship, n](const Array& parameters) {
    return parameters[0] * nd::eye(n, nd::kDouble) + (1 - parameters[0]) * relationship;
  };
  return {"relationship of rank " + std::to_string(rank),
          std::make_shared<Relationship>(relationship), covariance, 1};
}

/// The same from a factor of k columns: C is never decomposed as a whole.
inline Problem low_rank_problem(std::int64_t n, std::int64_t rank, Random& random) {
  const Array factor = std::sqrt(1.7 / rank) * normal({n, rank}, random);
  const auto covariance = [factor, n](const Array& parameters) {
    return parameters[0] * nd::eye(n, nd::kDouble) +
           (1 - parameters[0]) * nd::mm(factor, factor.t());
  };
  return {"low rank " + std::to_string(rank),
          std::make_shared<Relationship>(decompose_factor(factor)), covariance, 1};
}

/// The elements of a dense matrix that are not 0.
inline CompressedRows compress(const Array& matrix) {
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t i = 0; i < matrix.size(0); ++i) {
    for (std::int64_t j = 0; j < matrix.size(1); ++j) {
      const double value = matrix[i][j].item<double>();
      if (value == 0) continue;
      result.columns.push_back(j);
      result.values.push_back(value);
    }
    result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

/// Families of the given sizes; some relationship matrices are singular, some elements
/// inside families are 0. Row order[i] of families one after the other is row i.
inline Array families_matrix(const std::vector<std::int64_t>& sizes, const Array& order,
                             Random& random) {
  std::vector<Array> blocks;
  for (const std::int64_t m : sizes) {
    Array factor = normal({m, (m + 1) / 2 + 1}, random);
    if (m > 3) factor[1][0] = factor[1][1] = factor[0][2] = 0;
    blocks.push_back(nd::mm(factor, factor.t()) / 2);
  }
  const Array sorted = block_diagonal(blocks);
  return sorted.index_select(0, order).index_select(1, order);
}

inline Array random_order(const std::vector<std::int64_t>& sizes, Random& random) {
  return whole_numbers(
      random.permutation(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})));
}

/// Families with rows in random order.
inline Problem families_problem(const std::vector<std::int64_t>& sizes,
                                Random& random) {
  const Array matrix = families_matrix(sizes, random_order(sizes, random), random);
  const auto covariance = [matrix](const Array& parameters) {
    return parameters[0] * nd::eye(matrix.size(0), nd::kDouble) +
           (1 - parameters[0]) * matrix;
  };
  return {"families", std::make_shared<Families>(compress(matrix)), covariance, 1};
}

/// A matrix that is only multiplied. At this size its dominant subspace is complete, so
/// that there is no estimate in the results.
inline Problem iterative_problem(std::int64_t n, std::int64_t rank, Random& random) {
  const Array factor = normal({n, rank}, random);
  const Array relationship = 1.7 / rank * nd::mm(factor, factor.t());
  const auto covariance = [relationship, n](const Array& parameters) {
    return parameters[0] * nd::eye(n, nd::kDouble) + (1 - parameters[0]) * relationship;
  };
  return {"iterative relationship of rank " + std::to_string(rank),
          std::make_shared<IterativeRelationship>(
              std::make_shared<DenseRelationshipOperator>(relationship)),
          covariance, 1};
}

/// Unsorted times, some of them equal.
inline Problem markov_time_problem(std::int64_t n, bool is_rate_learned,
                                   Random& random) {
  Array times = uniform({n}, -3, 3, random);
  if (n > 3) times[2] = times[0];
  if (n > 5) times[5] = times[0];
  const double given_rate = 0.8;
  const Array distance = (times.unsqueeze(0) - times.unsqueeze(1)).abs();
  const auto covariance = [=](const Array& parameters) {
    const Array rate =
        is_rate_learned ? parameters[1] : nd::full({}, given_rate, nd::kDouble);
    return parameters[0] * nd::eye(n, nd::kDouble) +
           (1 - parameters[0]) * (-rate * distance).exp();
  };
  MarkovTimeOptions options;
  if (!is_rate_learned) options.decay_rate = given_rate;
  return {is_rate_learned ? "Markov time, rate learned" : "Markov time",
          std::make_shared<MarkovTime>(times, options), covariance,
          is_rate_learned ? 2 : 1};
}

/// Unsorted times, some of them equal.
inline Problem gaussian_time_problem(std::int64_t n, Random& random) {
  Array times = uniform({n}, -3, 3, random);
  if (n > 3) times[2] = times[0];
  const Array distance = (times.unsqueeze(0) - times.unsqueeze(1)).square();
  const auto covariance = [distance, n](const Array& parameters) {
    return parameters[0] * nd::eye(n, nd::kDouble) +
           (1 - parameters[0]) * (-parameters[1] * distance).exp();
  };
  return {"Gaussian time", std::make_shared<GaussianTime>(times), covariance, 2};
}

/// w_0 I + w_1 G_1 + ... of dense matrices.
inline DenseCovariance sum_covariance(const std::vector<Array>& parts) {
  return [parts](const Array& parameters) {
    Array result = parameters[0] * nd::eye(parts[0].size(0), nd::kDouble);
    for (std::size_t r = 0; r < parts.size(); ++r) {
      result = result + parameters[static_cast<std::int64_t>(r) + 1] * parts[r];
    }
    return result;
  };
}

/// Two relationships inside families and one that connects rows of different families,
/// all sparse, rows in random order.
inline Problem sparse_sum_problem(const std::vector<std::int64_t>& sizes,
                                  Random& random) {
  const Array order = random_order(sizes, random);
  const std::int64_t n = order.size(0);
  const std::vector<Array> parts = {
      families_matrix(sizes, order, random), families_matrix(sizes, order, random),
      same_label(order.remainder(std::max<std::int64_t>(1, (2 * n + 2) / 3)))};
  std::vector<SumPart> sparse;
  for (const Array& part : parts) sparse.emplace_back(compress(part));
  return {"sparse sum of three", std::make_shared<RelationshipSum>(sparse),
          sum_covariance(parts), 4, /*is_simplex=*/true};
}

/// Blocks, a relationship and decay in time, together; the first sparse.
inline Problem sum_problem(const std::vector<std::int64_t>& block_sizes,
                           Random& random) {
  std::vector<std::int64_t> labels;
  for (std::size_t b = 0; b < block_sizes.size(); ++b) {
    labels.insert(labels.end(), static_cast<std::size_t>(block_sizes[b]),
                  static_cast<std::int64_t>(b));
  }
  const auto n = static_cast<std::int64_t>(labels.size());
  const Array factor = normal({n, (n + 1) / 2}, random);
  const std::vector<Array> parts = {
      same_label(whole_numbers(labels)), nd::mm(factor, factor.t()) / n,
      gaussian_time_relationship(uniform({n}, 0, 5, random), 0.7)};
  return {"sum of three",
          std::make_shared<RelationshipSum>(std::vector<SumPart>{
              block_rows(whole_numbers(labels)), parts[1], parts[2]}),
          sum_covariance(parts), 4, /*is_simplex=*/true};
}

inline Problem unstructured_problem(std::int64_t n) {
  const Array places = nd::tril_indices(n, n);
  const auto factor = [places, n](const Array& parameters) {
    const Array lower = nd::zeros({n, n}, nd::kDouble);
    lower.index_put_({places[0], places[1]}, parameters);
    return lower.tril(-1) + nd::diag(lower.diagonal().exp());
  };
  const auto covariance = [factor](const Array& parameters) {
    const Array inverse = nd::linalg_inv(factor(parameters));
    return nd::mm(inverse, inverse.t());
  };
  Problem problem{"unstructured", std::make_shared<Unstructured>(n), covariance,
                  n * (n + 1) / 2};
  // dC = -(L^-1 dL C) - (L^-1 dL C)', and the diagonal of L is an exponential.
  problem.chain = [factor, places, n](const Array& parameters, const Array& slopes) {
    const Array lower = factor(parameters), inverse = nd::linalg_inv(lower);
    const Array of_factor =
        -2 * nd::mm(nd::mm(inverse.t(), slopes), nd::mm(inverse, inverse.t()));
    of_factor.diagonal().mul_(lower.diagonal());
    return of_factor.flatten().index_select(0, places[0] * n + places[1]);
  };
  return problem;
}

inline Problem independent_problem(std::int64_t n) {
  return {"independent", std::make_shared<Independent>(n),
          [n](const Array&) { return nd::eye(n, nd::kDouble); }, 0};
}

/// The same structure with parameters of its own for each of so many columns.
inline Problem per_latent_problem(const Problem& inner, std::int64_t columns) {
  const auto k = inner.parameter_count;
  const auto covariance = [own = inner.covariance, k,
                           columns](const Array& parameters) {
    std::vector<Array> matrices;
    for (std::int64_t j = 0; j < columns; ++j) {
      matrices.push_back(own(parameters.narrow(0, j * k, k)));
    }
    return nd::stack(matrices);
  };
  Problem problem{inner.name + ", per latent",
                  std::make_shared<PerLatent>(inner.dependence, columns), covariance,
                  columns * k, inner.is_simplex};
  problem.of_column = std::make_shared<Problem>(inner);
  return problem;
}

/// Blocks with an effect of each block and of each column, from blocks with
/// correlations of their own.
inline Problem effects_problem(const Problem& blocks, std::int64_t columns) {
  const auto m = blocks.parameter_count;
  const auto covariance = [own = blocks.covariance, m,
                           columns](const Array& parameters) {
    std::vector<Array> matrices;
    for (std::int64_t j = 0; j < columns; ++j) {
      matrices.push_back(
          own(m > 0 ? (parameters.narrow(0, 0, m) + parameters[m + j]).sigmoid()
                    : parameters));
    }
    return nd::stack(matrices);
  };
  const auto& law = dynamic_cast<const Blocks&>(*blocks.dependence);
  return {"blocks, effects of blocks and latents",
          std::make_shared<BlockAndLatentEffects>(law.block_of_row(), columns),
          covariance, m > 0 ? m + columns : 0};
}

/// Blocks with a correlation of each group of columns, from blocks that share one.
inline Problem grouped_problem(const Problem& blocks, std::int64_t columns) {
  LatentGroups groups{{{.positions = (columns + 1) / 2, .groups = 1}}};
  if (columns > 1) groups.parts.push_back({.positions = 1, .groups = columns / 2});
  const auto k = blocks.parameter_count;
  const auto covariance = [own = blocks.covariance, k,
                           columns](const Array& parameters) {
    std::vector<Array> matrices;
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto group = std::max<std::int64_t>(0, j + 1 - (columns + 1) / 2);
      matrices.push_back(own(parameters.narrow(0, group * k, k)));
    }
    return nd::stack(matrices);
  };
  const auto count = groups.count();
  const auto& law = dynamic_cast<const Blocks&>(*blocks.dependence);
  return {"blocks, grouped latents",
          std::make_shared<GroupedLatents>(law.block_of_row(), groups), covariance,
          k * count};
}

/// One problem of each structure, and of each with parameters of its own for every
/// column: `block_sizes` give n.
inline std::vector<Problem> problems_of_every_structure(
    const std::vector<std::int64_t>& block_sizes, std::int64_t replicas,
    std::int64_t columns, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t n =
      std::accumulate(block_sizes.begin(), block_sizes.end(), std::int64_t{0});
  std::vector<Problem> problems = {
      independent_problem(n),
      blocks_problem(block_sizes, BlockCorrelation::per_block, random),
      blocks_problem(block_sizes, BlockCorrelation::shared, random),
      blocks_problem(block_sizes, BlockCorrelation::per_size, random),
      blocks_problem(block_sizes, BlockCorrelation::pooled, random),
      relationship_problem(n, n, random),
      relationship_problem(n, (n + 2) / 3, random),
      low_rank_problem(n, (n + 2) / 3, random),
      low_rank_problem(n, n + 1, random),
      families_problem(block_sizes, random),
      iterative_problem(n, n, random),
      iterative_problem(n, (n + 2) / 3, random),
      markov_time_problem(n, false, random),
      markov_time_problem(n, true, random),
      gaussian_time_problem(n, random),
      sum_problem(block_sizes, random),
      sparse_sum_problem(block_sizes, random),
      unstructured_problem(n)};
  problems.push_back(effects_problem(problems[1], columns));
  const auto structures = problems.size() - 1;
  for (std::size_t i = 0; i < structures; ++i) {
    // The law of pooled correlations is learned from all columns together.
    if (problems[i].name == "blocks, pooled") continue;
    problems.push_back(per_latent_problem(problems[i], columns));
  }
  problems.push_back(grouped_problem(problems[2], columns));
  for (Problem& problem : problems) {
    problem.parameters =
        uniform({replicas, problem.parameter_count}, 0.05, 0.95, random);
    if (problem.is_simplex) {
      // The weights of each column.
      const auto columns_apart = problem.parameters.view(
          {replicas, problem.dependence->distinct_latents(), -1});
      columns_apart.div_(columns_apart.sum(2, true));
    }
    problem.latents = normal({replicas, n, columns}, random);
  }
  return problems;
}

/// A spread of small problems for comparisons with the oracle: blocks of one row, rows
/// in random order, 1 to 3 columns, 3 replicas.
inline std::vector<Problem> random_problems() {
  std::vector<Problem> problems;
  const std::vector<std::vector<std::int64_t>> sizes = {
      {1}, {2}, {1, 1, 1}, {5, 1, 2, 3, 1}, {20, 1, 1, 7, 2, 9}, {13, 4, 4, 4, 1}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto columns = static_cast<std::int64_t>(1 + i % 3);
    for (Problem& problem : problems_of_every_structure(sizes[i], 3, columns, i)) {
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

}  // namespace kinflow::oracle
