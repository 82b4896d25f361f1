// Matrices for tests of relationships that are only multiplied, and their oracle.
#pragma once

#include "kinflow/dependence/iterative_relationship.h"
#include "problems.h"

namespace kinflow {

/// A kind of matrix, and its spectral decomposition as the oracle.
struct Matrix {
  std::string name;
  at::Tensor values;  // [n, n]
  Relationship exact;
};

inline Matrix named(const std::string& name, const at::Tensor& values) {
  return {name, values, Relationship(values)};
}

/// Z Z'/m of markers whose frequencies differ between three populations, 0.1 per
/// marker: two large eigenvalues, and a bulk from rounding up to about 4.
inline at::Tensor genetic_relationship(std::int64_t n, std::int64_t markers,
                                       Random& random) {
  const at::Tensor population = at::arange(n, at::kLong).remainder(3);
  const at::Tensor shift = 0.3 * oracle::normal({3, markers}, random);
  const at::Tensor scores =
      oracle::normal({n, markers}, random) + shift.index_select(0, population);
  const at::Tensor centred = scores - scores.mean(0, /*keepdim=*/true);
  return at::mm(centred, centred.t()) / static_cast<double>(markers);
}

/// Eigenvalues like n/(4 j), in random directions.
inline at::Tensor slowly_decaying(std::int64_t n, Random& random) {
  const auto [directions, triangle] = at::linalg_qr(oracle::normal({n, n}, random));
  const at::Tensor values =
      static_cast<double>(n) / 4 / at::arange(1, n + 1, at::kDouble);
  return at::mm(directions * values, directions.t());
}

/// Rows in a chain with correlation 0.5 between neighbours, and 0.2 between rows that
/// are 17 apart: one sparse component.
inline at::Tensor chain(std::int64_t n) {
  at::Tensor lower = at::eye(n, at::kDouble);
  lower.diagonal(-1).fill_(0.6);
  lower.diagonal(-17).fill_(0.2);
  return at::mm(lower, lower.t()) / 1.4;
}

/// Families of four siblings: two distinct eigenvalues, each many times.
inline at::Tensor siblings(std::int64_t n) {
  const at::Tensor family = 0.5 * (at::eye(4, at::kDouble) + 1);
  return at::kron(at::eye(n / 4, at::kDouble), family);
}

inline at::Tensor low_rank(std::int64_t n, std::int64_t rank, Random& random) {
  const at::Tensor factor = oracle::normal({n, rank}, random);
  return at::mm(factor, factor.t()) / static_cast<double>(rank);
}

inline std::vector<Matrix> matrices() {
  Random random(101);
  return {named("low rank", low_rank(300, 20, random)),
          named("genetic", genetic_relationship(300, 400, random)),
          named("genetic, singular", genetic_relationship(300, 150, random)),
          named("slowly decaying", slowly_decaying(300, random)),
          named("chain", chain(300)),
          named("siblings", siblings(300)),
          named("identity", at::eye(300, at::kDouble))};
}

/// A law that cannot decompose its matrix: a space of 80 dimensions is searched.
inline IterativeRelationship iterated(const at::Tensor& matrix,
                                      IterativeRelationshipOptions options = {}) {
  options.basis = 80;
  return IterativeRelationship(std::make_shared<DenseRelationshipOperator>(matrix),
                               options);
}

inline at::Tensor share(double lambda) { return at::full({1, 1}, lambda, at::kDouble); }

}  // namespace kinflow
