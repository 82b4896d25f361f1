// Rows related in several ways: C = w_0 I + w_1 G_1 + ... + w_r G_r.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dense_law.h"

namespace kinflow {

/// One G: dense [n, n], or sparse with both triangles.
using SumPart = std::variant<Array, CompressedRows>;

struct RelationshipSumOptions {
  /// A component of more rows is refused: every new value of the weights costs a
  /// Cholesky factor of it.
  std::int64_t largest_component = kLargestFactorized;
};

/// C = w_0 I + sum_r w_r G_r with the G_r given and the weights w the r + 1 parameters.
/// The algebra holds for all weights that make C positive definite; without bounds they
/// are a softmax, so that an optimiser keeps them positive with the sum 1.
///
/// Where all parts are sparse, C falls apart into components of rows that any of them
/// connects; a dense part makes all rows one component. The matrices share no
/// eigenvectors, so each new value of the weights costs a Cholesky factor and an
/// inverse of every component; see DenseLaw. Memory is that of R + r matrices of the
/// components' sizes.
///
/// Computes on the device of its dense parts, on the CPU where there are none.
class RelationshipSum final : public DenseLaw {
 public:
  /// InputError where there is no part, sizes differ, one is not square, finite,
  /// symmetric and positive semidefinite, holds an element twice, or a component is too
  /// large.
  explicit RelationshipSum(const std::vector<SumPart>& parts,
                           RelationshipSumOptions options = {});

  std::int64_t parameter_count() const override { return part_count_ + 1; }
  std::string kind() const override { return "sum"; }

  /// The logarithms of the weights; back by a softmax, each weight at least 1e-9.
  Array to_unconstrained(const Array& parameters) const override;
  Array from_unconstrained(const Array& unconstrained) const override;
  Array unconstrained_gradient(const Array& parameters,
                               const Array& gradient) const override;
  /// A Dirichlet(2, ..., 2) density of the weights.
  Array unconstrained_prior_gradient(const Array& parameters) const override;
  Array prior_objective(const Array& parameters) const override;
  /// All weights but the first are 0.
  std::optional<std::int64_t> edges_of_independence() const override {
    return parameter_count() - 1;
  }
  /// Equal weights.
  Array default_parameters() const override;

 protected:
  Array covariances(std::size_t group, const Array& parameters) const override;
  Array slopes(std::size_t group, const Array& parameters, const Array& components,
               const Array& x) const override;

 private:
  /// One part's matrices of a group, [count, m, m].
  Array part_of_group(const SumPart& part, const Group& group) const;

  std::int64_t part_count_;
  std::vector<Array> matrices_;  // of each group, [r, count, m, m]
};

}  // namespace kinflow
