// The memory of a relationship matrix that is only multiplied: solutions now and then,
// and corrections in between.

#include "kinflow/array/array.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/side_by_side.h"

namespace kinflow {
namespace {

/// Relative residual of the derivative in lambda, which is used over short ways only.
constexpr double kDerivativeTolerance = 0.01;

}  // namespace

/// Solves X = C^-1 U at some time, for the latents U and lambda of that time, and
/// Y = C^-1 S with S = (I - G) X, which is -dX/dlambda. When the latents have changed
/// by D and lambda by e since, C^-1 of the new latents is X - e Y + C^-1 D up to second
/// order. In the last term C^-1 is exact along the dominant subspace and elsewhere its
/// mean: right on average for rows that changed independently of each other. So
/// products with G are needed to solve anew only.
///
/// Matrices over rows are [n, R p], replicas side by side.
class IterativeRelationship::Memory final : public LatentMemory {
 public:
  explicit Memory(const IterativeRelationship& relationship)
      : LatentMemory(relationship.rows()),
        relationship_(relationship),
        subspace_(relationship.subspace_),
        device_(relationship.relationship_->device()) {}

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    // Also as a place to start from the solution is forgotten: the latents alone are
    // the state.
    solved_ = Solved();
  }

  void update(const Array& rows, const Array& latents) override {
    const Array before = exchange_rows(rows, latents);
    if (!solved_.solution.defined()) return;
    const Array after = latents_.index_select(1, rows).to(nd::kDouble);
    const std::int64_t replicas = latents_.size(0);
    const Array chosen = rows.to(device_);
    const Array old_change = matrix(before) - solved_.latents.index_select(0, chosen);
    const Array step = matrix(after - before);
    const Array vectors = subspace_.vectors.index_select(0, chosen);
    solved_.change_along += nd::mm(vectors.t(), step);
    solved_.change_square += sum_by_replica(step * (2 * old_change + step), replicas);
    solved_.change_derivative +=
        sum_by_replica(step * solved_.derivative.index_select(0, chosen), replicas);
    solved_.changed_rows += rows.size(0);
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    solve_if_stale(parameters);
    return apart(corrected_rows(parameters, rows.to(device_)), latents_.size(0))
        .to(latents_.device());
  }

  Array parameter_gradient(const Array& parameters) const override {
    solve_if_stale(parameters);
    // tr(U' C^-1 (I - G) C^-1 U) when U has moved by D and lambda by e:
    //     tr(X'S) - 2e tr(Y'S) + 3e^2 tr(Y'(I - G)Y) + 2 tr(D'Y) + tr(D' M D),
    // M = C^-1 (I - G) C^-1, exact along the subspace and elsewhere its mean.
    const std::int64_t replicas = latents_.size(0), p = latents_.size(2);
    const Array moved = moved_by(parameters);
    const Array lambda = relationship_.lambda_of_columns(parameters, 1);
    const Array along =
        solved_.change_along.view({-1, replicas, p}).square().sum(2);  // [k, R]
    const Array of_subspace =
        (1 - subspace_.values).unsqueeze(1) / subspace_.variances(lambda).square();
    const Array of_change = (of_subspace * along).sum(0) +
                            relationship_.rest_means(lambda).slope *
                                (solved_.change_square - along.sum(0)).clamp_min(0);
    const Array form = solved_.solution_slope - 2 * moved * solved_.derivative_slope +
                       3 * moved.square() * solved_.derivative_form +
                       2 * solved_.change_derivative + of_change;
    return (0.5 *
            (static_cast<double>(p) * relationship_.log_det_slope(parameters) - form))
        .unsqueeze(1)
        .to(latents_.device());
  }

 private:
  struct Solved {
    Array lambda;             // [R]
    Array latents;            // U
    Array solution;           // X
    Array derivative;         // Y
    Array solution_slope;     // tr(X'S) [R]
    Array derivative_slope;   // tr(Y'S) [R]
    Array derivative_form;    // tr(Y'(I - G)Y) [R]
    Array change_along;       // Q'D [k, R p]
    Array change_square;      // tr(D'D) [R]
    Array change_derivative;  // tr(D'Y) [R]
    std::int64_t changed_rows = 0;
  };

  /// Latents [R, b, p] of any type as a matrix [b, R p] where products are computed.
  Array matrix(const Array& latents) const {
    return side_by_side(latents.to(device_, nd::kDouble));
  }
  /// How far lambda has moved since the solution: [R].
  Array moved_by(const Array& parameters) const {
    return relationship_.lambda_of_columns(parameters, 1) - solved_.lambda;
  }
  /// Rows of X - e Y + C^-1 D: [b, R p].
  Array corrected_rows(const Array& parameters, const Array& rows) const {
    const Array lambda = relationship_.lambda_of_columns(parameters, latents_.size(2));
    const Array moved = moved_by(parameters).repeat_interleave(latents_.size(2));
    const Array elsewhere =
        relationship_.rest_means(relationship_.lambda_of_columns(parameters, 1))
            .precision.repeat_interleave(latents_.size(2));
    const Array change = matrix(latents_.index_select(1, rows.to(latents_.device()))) -
                         solved_.latents.index_select(0, rows);
    return solved_.solution.index_select(0, rows) -
           moved * solved_.derivative.index_select(0, rows) + elsewhere * change +
           nd::mm(subspace_.vectors.index_select(0, rows),
                  (subspace_.variances(lambda).reciprocal() - elsewhere) *
                      solved_.change_along);
  }

  void solve_if_stale(const Array& parameters) const {
    const Array lambda = relationship_.lambda_of_columns(parameters, 1);
    const IterativeRelationshipOptions& options = relationship_.options_;
    Array start;
    if (solved_.solution.defined()) {
      const bool has_moved =
          ((nd::logit(lambda) - nd::logit(solved_.lambda)).abs() > options.memory_logit)
              .any()
              .item<bool>();
      const bool has_changed = static_cast<double>(solved_.changed_rows) >
                               options.memory_share * static_cast<double>(rows_);
      if (!has_moved && !has_changed) return;
      start = corrected_rows(
          parameters, nd::arange(rows_, nd::TensorOptions(device_).dtype(nd::kLong)));
    }
    const std::int64_t replicas = latents_.size(0);
    Solved next;
    next.lambda = lambda;
    next.latents = matrix(latents_);
    const Array of_columns =
        relationship_.lambda_of_columns(parameters, latents_.size(2));
    next.solution =
        relationship_.solve(next.latents, of_columns, options.tolerance, start).values;
    const Array slope =
        next.solution - relationship_.relationship_->times(next.solution);
    next.derivative =
        relationship_.solve(slope, of_columns, kDerivativeTolerance).values;
    next.solution_slope = sum_by_replica(next.solution * slope, replicas);
    next.derivative_slope = sum_by_replica(next.derivative * slope, replicas);
    next.derivative_form = relationship_.form_of_slope(next.derivative, replicas);
    next.change_along = nd::mm(subspace_.vectors.t(), nd::zeros_like(slope));
    next.change_square = nd::zeros_like(next.solution_slope);
    next.change_derivative = nd::zeros_like(next.solution_slope);
    solved_ = next;
  }

  const IterativeRelationship& relationship_;
  const DominantSubspace& subspace_;
  nd::Device device_;
  mutable Solved solved_;
};

std::unique_ptr<LatentMemory> IterativeRelationship::make_memory() const {
  return std::make_unique<Memory>(*this);
}

}  // namespace kinflow
