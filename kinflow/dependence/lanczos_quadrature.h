// Quadratic forms of functions of a relationship matrix, by Lanczos and Gauss.
#pragma once

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dominant_subspace.h"

namespace kinflow {

/// For each start y the form y' f(G) y as the sum over j of weights_j f(nodes_j), for
/// every smooth f.
struct SpectralMeasures {
  Array nodes;    ///< [c, m] float64 on the CPU, none negative
  Array weights;  ///< [c, m]; the sum of a row is |y|^2
};

/// Lanczos recursions of G from several starts side by side, outside a dominant
/// subspace. There is no orthogonalisation but that against the subspace: lost
/// orthogonality repeats nodes and shares their weight, which leaves the sums as they
/// are. Memory is that of four times the starts.
class LanczosQuadrature {
 public:
  /// The arguments must outlive this object. @param starts [n, c]; their parts along
  /// the subspace are left out
  LanczosQuadrature(const RelationshipOperator& relationship,
                    const DominantSubspace& subspace, const Array& starts);

  /// One product of G with all starts for each step.
  void advance(std::int64_t steps);
  std::int64_t steps() const { return static_cast<std::int64_t>(diagonal_.size()); }
  /// Gauss quadrature with as many nodes as steps.
  SpectralMeasures gauss() const { return measures(false); }
  /// Gauss-Radau quadrature with one node more, at 0. For log(lambda + (1 - lambda) x)
  /// and positive semidefinite G its sum is too small and that of gauss() too large.
  SpectralMeasures radau() const { return measures(true); }

 private:
  SpectralMeasures measures(bool has_node_at_zero) const;

  const RelationshipOperator& relationship_;
  const DominantSubspace& subspace_;
  Array square_;                 // [c], squared lengths of the starts
  Array current_;                // [n, c], each column of length 1 or 0
  Array previous_;               // [n, c]
  std::vector<Array> diagonal_;  // [c] for each step
  std::vector<Array> beside_;    // [c] for each step; the last one leads on
  Array scale_;               // [c], the largest coefficient so far, or largest_known_
  double largest_known_ = 0;  // eigenvalue in the subspace
};

}  // namespace kinflow
