// The dense float64 oracle that every dependence structure is compared with; problems.h
// has the problems.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow::oracle {

/// How far algebra in float64 may be from the oracle.
inline constexpr double kTolerance = 1e-10;

/// C as an explicit function of the parameters: [k] to [L, n, n], analytic, L as in
/// Dependence::distinct_latents(). What problems are made of gives [n, n] for L = 1.
using DenseCovariance = std::function<Array(const Array&)>;

/// A structure, the covariance that it should have, and one case of its arguments.
struct Problem {
  std::string name;
  std::shared_ptr<Dependence> dependence;
  DenseCovariance covariance;
  std::int64_t parameter_count;
  bool is_simplex = false;  // the parameters have the sum 1
  /// The problem of each column, where they share no parameters.
  std::shared_ptr<const Problem> of_column = {};
  /// Where differences in all the parameters would take long: the gradient [k] of the
  /// sum of slopes [n, n] times C.
  std::function<Array(const Array& parameters, const Array& slopes)> chain = {};
  Array parameters = {};  // [R, k]
  Array latents = {};     // [R, n, p]

  std::int64_t replicas() const { return latents.size(0); }
  std::int64_t rows() const { return latents.size(1); }
  std::int64_t columns() const { return latents.size(2); }
  std::string text() const {
    return name + ", " + std::to_string(rows()) + " rows, " +
           std::to_string(columns()) + " columns";
  }
  /// Whether every column has its own C.
  bool is_per_latent() const {
    return dynamic_cast<const FoldedLatents*>(dependence.get()) != nullptr;
  }
  /// C of parameters [k]: [L, n, n].
  Array covariance_at(const Array& own) const {
    const Array result = covariance(own);
    return result.dim() == 2 ? result.unsqueeze(0) : result;
  }
  /// C and C^-1 of every replica: [R, L, n, n].
  Array covariances() const {
    std::vector<Array> result;
    for (std::int64_t r = 0; r < replicas(); ++r) {
      result.push_back(covariance_at(parameters[r]));
    }
    return nd::stack(result);
  }
  Array precisions() const { return nd::linalg_inv(covariances()); }
  /// C^-1 U of every replica, column by column: [R, n, p].
  Array precision_times(const Array& of_latents) const {
    return nd::matmul(precisions(), of_latents.transpose(1, 2).unsqueeze(3))
        .squeeze(3)
        .transpose(1, 2)
        .contiguous();
  }
};

inline Array normal(nd::IntArrayRef shape, Random& random) {
  Array result = nd::empty(shape, nd::kDouble);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<double>()[i] = random.normal();
  }
  return result;
}

inline Array uniform(nd::IntArrayRef shape, double low, double high, Random& random) {
  Array result = nd::empty(shape, nd::kDouble);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<double>()[i] = random.uniform(low, high);
  }
  return result;
}

inline Array whole_numbers(const std::vector<std::int64_t>& values) {
  return nd::tensor(values, nd::kLong);
}

/// The sum over the columns u of 1/2 log det C + 1/2 u' C^-1 u of one replica, a
/// scalar.
/// @param covariance  [n, n] or [L, n, n]
inline Array objective(const Array& covariance, const Array& latents) {
  const Array matrices = covariance.dim() == 2 ? covariance.unsqueeze(0) : covariance;
  Array total = nd::zeros({}, nd::kDouble);
  for (std::int64_t j = 0; j < latents.size(1); ++j) {
    const Array& c = matrices[std::min(j, matrices.size(0) - 1)];
    const Array u = latents.narrow(1, j, 1);
    total = total + 0.5 * (nd::logdet(c) + (u * nd::mm(nd::linalg_inv(c), u)).sum());
  }
  return total;
}

/// dC / d parameters[i] at parameters [k]: [L, n, n]. Central differences over four
/// distances leave an error of the ninth derivative times distance^8 / 630, which for
/// every covariance of problems.h is as small as rounding.
inline Array covariance_derivative(const Problem& problem, const Array& parameters,
                                   std::int64_t i) {
  constexpr double kDistance = 1.0 / 1024;
  constexpr double kWeights[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  const auto shifted = [&](double distance) {
    Array moved = parameters.clone();
    moved[i] += distance;
    return problem.covariance_at(moved);
  };
  Array derivative;
  for (int step = 1; step <= 4; ++step) {
    const double distance = step * kDistance;
    const Array term =
        (shifted(distance) - shifted(-distance)) * (kWeights[step - 1] / kDistance);
    derivative = step == 1 ? term : derivative + term;
  }
  return derivative;
}

/// Gradient of the objective in the parameters, through the dense matrices: [R, k].
inline Array parameter_gradient(const Problem& problem) {
  if (problem.of_column != nullptr) {
    std::vector<Array> gradients;
    for (std::int64_t j = 0; j < problem.columns(); ++j) {
      Problem own = *problem.of_column;
      own.parameters =
          problem.parameters.narrow(1, j * own.parameter_count, own.parameter_count);
      own.latents = problem.latents.narrow(2, j, 1);
      gradients.push_back(parameter_gradient(own));
    }
    return nd::cat(gradients, 1);
  }
  const Array gradient = nd::zeros_like(problem.parameters);
  for (std::int64_t r = 0; r < problem.replicas(); ++r) {
    const Array parameters = problem.parameters[r];
    const Array precisions = nd::linalg_inv(problem.covariance_at(parameters));
    // d objective / dC: 1/2 (C^-1 - C^-1 u u' C^-1), the sum over the columns of a C.
    const Array slopes = nd::zeros_like(precisions);
    for (std::int64_t j = 0; j < problem.columns(); ++j) {
      const std::int64_t l = std::min(j, precisions.size(0) - 1);
      const Array weighted = nd::mv(precisions[l], problem.latents[r].select(1, j));
      slopes[l] += 0.5 * (precisions[l] - nd::outer(weighted, weighted));
    }
    if (problem.chain) {
      gradient[r].copy_(problem.chain(parameters, slopes[0]));
      continue;
    }
    for (std::int64_t i = 0; i < parameters.size(0); ++i) {
      gradient[r][i] = (slopes * covariance_derivative(problem, parameters, i)).sum();
    }
  }
  return gradient;
}

/// Every element differs by at most `tolerance` times the largest element expected.
inline void expect_near(const Array& actual, const Array& expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  ASSERT_EQ(actual.scalar_type(), nd::kDouble) << what;
  if (expected.numel() == 0) return;
  const double scale = expected.abs().max().item<double>();
  const double error = (actual - expected).abs().max().item<double>();
  EXPECT_LE(error, tolerance * std::max(scale, 1e-3)) << what;
}

/// 1 where two rows have the same label, else 0: [n, n].
inline Array same_label(const Array& labels) {
  return (labels.unsqueeze(0) == labels.unsqueeze(1)).to(nd::kDouble);
}

/// The matrices one after the other on the diagonal, 0 elsewhere.
inline Array block_diagonal(const std::vector<Array>& blocks) {
  std::int64_t n = 0;
  for (const Array& block : blocks) n += block.size(0);
  Array result = nd::zeros({n, n}, nd::kDouble);
  std::int64_t first = 0;
  for (const Array& block : blocks) {
    const std::int64_t m = block.size(0);
    result.narrow(0, first, m).narrow(1, first, m).copy_(block);
    first += m;
  }
  return result;
}

/// All batches of `size` rows out of n.
inline std::vector<Array> all_batches(std::int64_t n, std::int64_t size) {
  std::vector<Array> batches;
  for (std::int64_t members = 0; members < (std::int64_t{1} << n); ++members) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n; ++i) {
      if ((members >> i) & 1) rows.push_back(i);
    }
    if (static_cast<std::int64_t>(rows.size()) == size) {
      batches.push_back(whole_numbers(rows));
    }
  }
  return batches;
}

}  // namespace kinflow::oracle
