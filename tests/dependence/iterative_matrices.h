// Matrices for tests of relationships that are only multiplied, and their oracle.
#pragma once

#include "kinflow/dependence/iterative_relationship.h"
#include "problems.h"

namespace kinflow {

/// A kind of matrix, and its spectral decomposition as the oracle.
struct Matrix {
  std::string name;
  Array values;  // [n, n]
  Relationship exact;
};

inline Matrix named(const std::string& name, const Array& values) {
  return {name, values, Relationship(values)};
}

/// Z Z'/m of markers whose frequencies differ between three populations, 0.1 per
/// marker: two large eigenvalues, and a bulk from rounding up to about 4.
inline Array genetic_relationship(std::int64_t n, std::int64_t markers,
                                  Random& random) {
  const Array population = nd::arange(n, nd::kLong).remainder(3);
  const Array shift = 0.3 * oracle::normal({3, markers}, random);
  const Array scores =
      oracle::normal({n, markers}, random) + shift.index_select(0, population);
  const Array centred = scores - scores.mean(0, /*keepdim=*/true);
  return nd::mm(centred, centred.t()) / static_cast<double>(markers);
}

/// Eigenvalues like n/(4 j), in random directions.
inline Array slowly_decaying(std::int64_t n, Random& random) {
  const auto [directions, triangle] = nd::linalg_qr(oracle::normal({n, n}, random));
  const Array values = static_cast<double>(n) / 4 / nd::arange(1, n + 1, nd::kDouble);
  return nd::mm(directions * values, directions.t());
}

/// Rows in a chain with correlation 0.5 between neighbours, and 0.2 between rows that
/// are 17 apart: one sparse component.
inline Array chain(std::int64_t n) {
  Array lower = nd::eye(n, nd::kDouble);
  lower.diagonal(-1).fill_(0.6);
  lower.diagonal(-17).fill_(0.2);
  return nd::mm(lower, lower.t()) / 1.4;
}

/// Families of four siblings: two distinct eigenvalues, each many times.
inline Array siblings(std::int64_t n) {
  const Array family = 0.5 * (nd::eye(4, nd::kDouble) + 1);
  return nd::kron(nd::eye(n / 4, nd::kDouble), family);
}

inline Array low_rank(std::int64_t n, std::int64_t rank, Random& random) {
  const Array factor = oracle::normal({n, rank}, random);
  return nd::mm(factor, factor.t()) / static_cast<double>(rank);
}

inline std::vector<Matrix> matrices() {
  Random random(101);
  return {named("low rank", low_rank(300, 20, random)),
          named("genetic", genetic_relationship(300, 400, random)),
          named("genetic, singular", genetic_relationship(300, 150, random)),
          named("slowly decaying", slowly_decaying(300, random)),
          named("chain", chain(300)),
          named("siblings", siblings(300)),
          named("identity", nd::eye(300, nd::kDouble))};
}

/// A law that cannot decompose its matrix: a space of 80 dimensions is searched.
inline IterativeRelationship iterated(const Array& matrix,
                                      IterativeRelationshipOptions options = {}) {
  options.basis = 80;
  return IterativeRelationship(std::make_shared<DenseRelationshipOperator>(matrix),
                               options);
}

inline Array share(double lambda) { return nd::full({1, 1}, lambda, nd::kDouble); }

}  // namespace kinflow
