// The dense float64 oracle that every dependence structure is compared with; problems.h
// has the problems.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/core/random.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow::oracle {

/// How far algebra in float64 may be from the oracle.
inline constexpr double kTolerance = 1e-10;

/// C as an explicit function of the parameters: [k] to [L, n, n], differentiable, L as
/// in Dependence::distinct_latents(). What problems are made of gives [n, n] for L = 1.
using DenseCovariance = std::function<at::Tensor(const at::Tensor&)>;

/// A structure, the covariance that it should have, and one case of its arguments.
struct Problem {
  std::string name;
  std::shared_ptr<Dependence> dependence;
  DenseCovariance covariance;
  std::int64_t parameter_count;
  bool is_simplex = false;     // the parameters have the sum 1
  at::Tensor parameters = {};  // [R, k]
  at::Tensor latents = {};     // [R, n, p]

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
  at::Tensor covariance_at(const at::Tensor& own) const {
    const at::Tensor result = covariance(own);
    return result.dim() == 2 ? result.unsqueeze(0) : result;
  }
  /// C and C^-1 of every replica: [R, L, n, n].
  at::Tensor covariances() const {
    std::vector<at::Tensor> result;
    for (std::int64_t r = 0; r < replicas(); ++r) {
      result.push_back(covariance_at(parameters[r]));
    }
    return at::stack(result);
  }
  at::Tensor precisions() const { return at::linalg_inv(covariances()); }
  /// C^-1 U of every replica, column by column: [R, n, p].
  at::Tensor precision_times(const at::Tensor& of_latents) const {
    return at::matmul(precisions(), of_latents.transpose(1, 2).unsqueeze(3))
        .squeeze(3)
        .transpose(1, 2)
        .contiguous();
  }
};

inline at::Tensor normal(at::IntArrayRef shape, Random& random) {
  at::Tensor result = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<double>()[i] = random.normal();
  }
  return result;
}

inline at::Tensor uniform(at::IntArrayRef shape, double low, double high,
                          Random& random) {
  at::Tensor result = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<double>()[i] = random.uniform(low, high);
  }
  return result;
}

inline at::Tensor whole_numbers(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

/// The sum over the columns u of 1/2 log det C + 1/2 u' C^-1 u of one replica, a
/// scalar.
/// @param covariance  [n, n] or [L, n, n]
inline at::Tensor objective(const at::Tensor& covariance, const at::Tensor& latents) {
  const at::Tensor matrices =
      covariance.dim() == 2 ? covariance.unsqueeze(0) : covariance;
  at::Tensor total = at::zeros({}, at::kDouble);
  for (std::int64_t j = 0; j < latents.size(1); ++j) {
    const at::Tensor& c = matrices[std::min(j, matrices.size(0) - 1)];
    const at::Tensor u = latents.narrow(1, j, 1);
    total = total + 0.5 * (at::logdet(c) + (u * at::mm(at::linalg_inv(c), u)).sum());
  }
  return total;
}

/// Gradient of the objective in the parameters by autograd: [R, k].
inline at::Tensor parameter_gradient(const Problem& problem) {
  const at::Tensor parameters = problem.parameters.clone();
  if (parameters.numel() == 0) return parameters;
  parameters.set_requires_grad(true);
  at::Tensor total = at::zeros({}, at::kDouble);
  for (std::int64_t r = 0; r < problem.replicas(); ++r) {
    total = total + objective(problem.covariance(parameters[r]), problem.latents[r]);
  }
  total.backward();
  return parameters.grad();
}

/// Every element differs by at most `tolerance` times the largest element expected.
inline void expect_near(const at::Tensor& actual, const at::Tensor& expected,
                        double tolerance, const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  ASSERT_EQ(actual.scalar_type(), at::kDouble) << what;
  if (expected.numel() == 0) return;
  const double scale = expected.abs().max().item<double>();
  const double error = (actual - expected).abs().max().item<double>();
  EXPECT_LE(error, tolerance * std::max(scale, 1e-3)) << what;
}

/// 1 where two rows have the same label, else 0: [n, n].
inline at::Tensor same_label(const at::Tensor& labels) {
  return (labels.unsqueeze(0) == labels.unsqueeze(1)).to(at::kDouble);
}

/// All batches of `size` rows out of n.
inline std::vector<at::Tensor> all_batches(std::int64_t n, std::int64_t size) {
  std::vector<at::Tensor> batches;
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
