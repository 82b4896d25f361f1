// The memory of a relationship matrix that is only multiplied: solutions now and then,
// and corrections in between.
#include <ATen/ATen.h>

#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/side_by_side.h"

namespace kinflow {

/// Solves X = C^-1 U at some time, for the latents U and lambda of that time, and keeps
/// S = (I - G) X. When the latents have changed by D and lambda by e since, X has the
/// residual D - e S. So X plus the residual times the approximate inverse P of C (see
/// DominantSubspace) is right but for what P has wrong about the changes. Products with
/// G are needed to solve anew only.
///
/// Matrices over rows are [n, R p], replicas side by side.
class IterativeRelationship::Memory final : public LatentMemory {
 public:
  explicit Memory(const IterativeRelationship& relationship)
      : LatentMemory(relationship.rows()),
        relationship_(relationship),
        subspace_(relationship.subspace_),
        device_(relationship.relationship_->device()) {}

  void reset(const at::Tensor& latents) override {
    LatentMemory::reset(latents);
    // Also as a place to start from the solution is forgotten: the latents alone are
    // the state.
    solved_ = Solved();
  }

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    const at::Tensor before = exchange_rows(rows, latents);
    if (!solved_.solution.defined()) return;
    const at::Tensor after = latents_.index_select(1, rows).to(at::kDouble);
    const std::int64_t replicas = latents_.size(0);
    const at::Tensor chosen = rows.to(device_);
    const at::Tensor old_change =
        matrix(before) - solved_.latents.index_select(0, chosen);
    const at::Tensor step = matrix(after - before);
    const at::Tensor vectors = subspace_.vectors.index_select(0, chosen);
    solved_.change_along += at::mm(vectors.t(), step);
    solved_.change_square += sum_by_replica(step * (2 * old_change + step), replicas);
    solved_.change_slope +=
        sum_by_replica(step * solved_.slope.index_select(0, chosen), replicas);
    solved_.changed_rows += rows.size(0);
  }

  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    solve_if_stale(parameters);
    return apart(corrected_rows(parameters, rows.to(device_)), latents_.size(0))
        .to(latents_.device());
  }

  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
    solve_if_stale(parameters);
    // With Z = P R for the residual R the form tr(X'(I - G)X) is that of the solution,
    // plus 2 tr(Z'S), plus tr(Z'(I - G)Z), where G is taken for its approximation.
    const std::int64_t replicas = latents_.size(0), p = latents_.size(2);
    const at::Tensor moved = moved_by(parameters);  // [R]
    const at::Tensor lambda = relationship_.lambda_of_columns(parameters, 1);
    const DominantSubspace::Function inverse = subspace_.inverse(lambda);
    const at::Tensor residual_slope =
        solved_.change_slope - moved * solved_.slope_square;
    const at::Tensor residual_square = solved_.change_square -
                                       2 * moved * solved_.change_slope +
                                       moved.square() * solved_.slope_square;
    const at::Tensor residual_along =
        residual_along_subspace(parameters).view({-1, replicas, p});
    const at::Tensor slope_along = solved_.slope_along.view({-1, replicas, p});
    const at::Tensor correction_slope =
        inverse.outside * residual_slope +
        (inverse.inside * (residual_along * slope_along).sum(2)).sum(0);
    const at::Tensor along_square = residual_along.square().sum(2);  // [k, R]
    at::Tensor correction_form = ((1 - subspace_.values).unsqueeze(1) /
                                  subspace_.variances(lambda).square() * along_square)
                                     .sum(0);
    correction_form =
        correction_form + (1 - subspace_.rest_mean) * inverse.outside.square() *
                              (residual_square - along_square.sum(0)).clamp_min(0);
    const at::Tensor form =
        solved_.solution_slope + 2 * correction_slope + correction_form;
    return (0.5 *
            (static_cast<double>(p) * relationship_.log_det_slope(parameters) - form))
        .unsqueeze(1)
        .to(latents_.device());
  }

 private:
  struct Solved {
    at::Tensor lambda;          // [R]
    at::Tensor latents;         // U
    at::Tensor solution;        // X
    at::Tensor slope;           // S
    at::Tensor slope_along;     // Q'S [k, R p]
    at::Tensor slope_square;    // tr(S'S) [R]
    at::Tensor solution_slope;  // tr(X'S) [R]
    at::Tensor change_along;    // Q'D [k, R p]
    at::Tensor change_square;   // tr(D'D) [R]
    at::Tensor change_slope;    // tr(D'S) [R]
    std::int64_t changed_rows = 0;
  };

  /// Latents [R, b, p] of any type as a matrix [b, R p] where products are computed.
  at::Tensor matrix(const at::Tensor& latents) const {
    return side_by_side(latents.to(device_, at::kDouble));
  }
  /// How far lambda has moved since the solution: [R].
  at::Tensor moved_by(const at::Tensor& parameters) const {
    return relationship_.lambda_of_columns(parameters, 1) - solved_.lambda;
  }
  /// The same for each column: [R p].
  at::Tensor moved_by_column(const at::Tensor& parameters) const {
    return moved_by(parameters).repeat_interleave(latents_.size(2));
  }
  at::Tensor residual_along_subspace(const at::Tensor& parameters) const {
    return solved_.change_along - moved_by_column(parameters) * solved_.slope_along;
  }
  /// Rows of X, corrected: [b, R p].
  at::Tensor corrected_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const {
    const DominantSubspace::Function inverse = subspace_.inverse(
        relationship_.lambda_of_columns(parameters, latents_.size(2)));
    const at::Tensor residual =
        matrix(latents_.index_select(1, rows.to(latents_.device()))) -
        solved_.latents.index_select(0, rows) -
        moved_by_column(parameters) * solved_.slope.index_select(0, rows);
    return at::addmm(
        solved_.solution.index_select(0, rows) + inverse.outside * residual,
        subspace_.vectors.index_select(0, rows),
        inverse.inside * residual_along_subspace(parameters));
  }

  void solve_if_stale(const at::Tensor& parameters) const {
    const at::Tensor lambda = relationship_.lambda_of_columns(parameters, 1);
    const IterativeRelationshipOptions& options = relationship_.options_;
    at::Tensor start;
    if (solved_.solution.defined()) {
      const bool has_moved =
          ((at::logit(lambda) - at::logit(solved_.lambda)).abs() > options.memory_logit)
              .any()
              .item<bool>();
      const bool has_changed = static_cast<double>(solved_.changed_rows) >
                               options.memory_share * static_cast<double>(rows_);
      if (!has_moved && !has_changed) return;
      start = corrected_rows(
          parameters, at::arange(rows_, at::TensorOptions(device_).dtype(at::kLong)));
    }
    const std::int64_t replicas = latents_.size(0);
    Solved next;
    next.lambda = lambda;
    next.latents = matrix(latents_);
    next.solution =
        relationship_
            .solve(next.latents,
                   relationship_.lambda_of_columns(parameters, latents_.size(2)), start)
            .values;
    next.slope = next.solution - relationship_.relationship_->times(next.solution);
    next.slope_along = at::mm(subspace_.vectors.t(), next.slope);
    next.slope_square = sum_by_replica(next.slope.square(), replicas);
    next.solution_slope = sum_by_replica(next.solution * next.slope, replicas);
    next.change_along = at::zeros_like(next.slope_along);
    next.change_square = at::zeros_like(next.slope_square);
    next.change_slope = at::zeros_like(next.slope_square);
    solved_ = next;
  }

  const IterativeRelationship& relationship_;
  const DominantSubspace& subspace_;
  at::Device device_;
  mutable Solved solved_;
};

std::unique_ptr<LatentMemory> IterativeRelationship::make_memory() const {
  return std::make_unique<Memory>(*this);
}

}  // namespace kinflow
