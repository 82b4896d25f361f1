// Lanczos recursions and the quadratures of their tridiagonal matrices.
#include "kinflow/dependence/lanczos_quadrature.h"

#include <algorithm>

#include "kinflow/array/array.h"

namespace kinflow {
namespace {

/// A recursion has ended when the next vector is shorter than this share of the largest
/// coefficient.
constexpr double kEnded = 1e-13;

/// What stands for 0 from below, in units of the largest coefficient.
constexpr double kBelowZero = 1e-12;

}  // namespace

LanczosQuadrature::LanczosQuadrature(const RelationshipOperator& relationship,
                                     const DominantSubspace& subspace,
                                     const Array& starts)
    : relationship_(relationship), subspace_(subspace) {
  // Twice, so that little is left along the subspace of a start that lies almost in it.
  const Array rest = subspace.remove_from(subspace.remove_from(starts));
  square_ = rest.square().sum(0);
  const Array length = square_.sqrt();
  current_ = nd::where(length > 0, rest / length, nd::zeros_like(rest));
  previous_ = nd::zeros_like(current_);
  if (subspace.count() > 0) largest_known_ = subspace.values.max().item<double>();
  scale_ = nd::full_like(square_, largest_known_);
}

void LanczosQuadrature::advance(std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    Array next = relationship_.times(current_);
    const Array diagonal = (next * current_).sum(0);
    next.addcmul_(current_, diagonal, -1);
    if (!beside_.empty()) next.addcmul_(previous_, beside_.back(), -1);
    next = subspace_.remove_from(next);
    Array beside = next.norm(2, 0);
    scale_ = nd::max(scale_, nd::max(diagonal.abs(), beside));
    beside = nd::where(beside > kEnded * scale_, beside, nd::zeros_like(beside));
    next = nd::where(beside > 0, next / beside, nd::zeros_like(next));
    previous_ = current_;
    current_ = next;
    diagonal_.push_back(diagonal);
    beside_.push_back(beside);
  }
}

SpectralMeasures LanczosQuadrature::measures(bool has_node_at_zero) const {
  const std::int64_t m = steps(), size = m + (has_node_at_zero ? 1 : 0);
  const Array diagonal = nd::stack(diagonal_, 1).cpu();
  const Array beside = nd::stack(beside_, 1).cpu();
  Array matrices = nd::zeros({diagonal.size(0), size, size}, nd::kDouble);
  matrices.diagonal(0, 1, 2).narrow(1, 0, m).copy_(diagonal);
  if (size > 1) {
    const Array used = beside.narrow(1, 0, size - 1);
    matrices.diagonal(1, 1, 2).copy_(used);
    matrices.diagonal(-1, 1, 2).copy_(used);
  }
  if (has_node_at_zero) {
    // The last diagonal element that gives the matrix the eigenvalue `zero`: with the
    // pivots of the elimination it is zero + beside^2 / pivot. `zero` is a little below
    // 0, so that rounding leaves the pivots of a singular matrix positive.
    const Array scale = scale_.cpu();
    for (std::int64_t c = 0; c < diagonal.size(0); ++c) {
      const double* a = diagonal.data_ptr<double>() + c * m;
      const double* b = beside.data_ptr<double>() + c * m;
      const double zero = -kBelowZero * scale[c].item<double>();
      double pivot = a[0] - zero;
      for (std::int64_t j = 1; j < m && pivot > 0; ++j) {
        pivot = a[j] - zero - b[j - 1] * b[j - 1] / pivot;
      }
      if (pivot > 0) {
        matrices[c][m][m] = zero + b[m - 1] * b[m - 1] / pivot;
      } else {
        // A node below `zero` is there already: the new one gets no weight.
        matrices[c][m - 1][m] = matrices[c][m][m - 1] = 0;
      }
    }
  }
  const auto [values, vectors] = nd::linalg_eigh(matrices);
  const Array square = square_.cpu().unsqueeze(1);
  check_not_negative(values.min().item<double>(),
                     std::max(values.max().item<double>(), largest_known_),
                     relationship_.rows());
  return {values.clamp_min(0), vectors.select(1, 0).square() * square};
}

}  // namespace kinflow
