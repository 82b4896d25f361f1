// Lanczos recursions and the quadratures of their tridiagonal matrices.
#include "kinflow/dependence/lanczos_quadrature.h"

#include <ATen/ATen.h>

#include <algorithm>

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
                                     const at::Tensor& starts)
    : relationship_(relationship), subspace_(subspace) {
  // Twice, so that little is left along the subspace of a start that lies almost in it.
  const at::Tensor rest = subspace.remove_from(subspace.remove_from(starts));
  square_ = rest.square().sum(0);
  const at::Tensor length = square_.sqrt();
  current_ = at::where(length > 0, rest / length, at::zeros_like(rest));
  previous_ = at::zeros_like(current_);
  if (subspace.count() > 0) largest_known_ = subspace.values.max().item<double>();
  scale_ = at::full_like(square_, largest_known_);
}

void LanczosQuadrature::advance(std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    at::Tensor next = relationship_.times(current_);
    const at::Tensor diagonal = (next * current_).sum(0);
    next.addcmul_(current_, diagonal, -1);
    if (!beside_.empty()) next.addcmul_(previous_, beside_.back(), -1);
    next = subspace_.remove_from(next);
    at::Tensor beside = next.norm(2, 0);
    scale_ = at::max(scale_, at::max(diagonal.abs(), beside));
    beside = at::where(beside > kEnded * scale_, beside, at::zeros_like(beside));
    next = at::where(beside > 0, next / beside, at::zeros_like(next));
    previous_ = current_;
    current_ = next;
    diagonal_.push_back(diagonal);
    beside_.push_back(beside);
  }
}

SpectralMeasures LanczosQuadrature::measures(bool has_node_at_zero) const {
  const std::int64_t m = steps(), size = m + (has_node_at_zero ? 1 : 0);
  const at::Tensor diagonal = at::stack(diagonal_, 1).cpu();
  const at::Tensor beside = at::stack(beside_, 1).cpu();
  at::Tensor matrices = at::zeros({diagonal.size(0), size, size}, at::kDouble);
  matrices.diagonal(0, 1, 2).narrow(1, 0, m).copy_(diagonal);
  if (size > 1) {
    const at::Tensor used = beside.narrow(1, 0, size - 1);
    matrices.diagonal(1, 1, 2).copy_(used);
    matrices.diagonal(-1, 1, 2).copy_(used);
  }
  if (has_node_at_zero) {
    // The last diagonal element that gives the matrix the eigenvalue `zero`: with the
    // pivots of the elimination it is zero + beside^2 / pivot. `zero` is a little below
    // 0, so that rounding leaves the pivots of a singular matrix positive.
    const at::Tensor scale = scale_.cpu();
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
  const auto [values, vectors] = at::linalg_eigh(matrices);
  const at::Tensor square = square_.cpu().unsqueeze(1);
  check_not_negative(values.min().item<double>(),
                     std::max(values.max().item<double>(), largest_known_),
                     relationship_.rows());
  return {values.clamp_min(0), vectors.select(1, 0).square() * square};
}

}  // namespace kinflow
