// The estimators of a relationship by arrays: the batch's rows of Q are gathered once,
// in the latents' own type, for all replicas and all estimates.

#include "kinflow/array/array.h"
#include "kinflow/dependence/batch_estimator.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/dependence/relationship_cpu_estimator.h"
#include "kinflow/dependence/side_by_side.h"

namespace kinflow {

/// Keeps the remembered latents side by side, as products with Q take them.
class Relationship::ArrayEstimator final : public BatchEstimator {
 public:
  ArrayEstimator(const Relationship& relationship,
                 const std::vector<EstimatorChoice>& choices, nd::ScalarType type)
      : relationship_(relationship),
        vectors_(relationship.eigenvectors().to(type)),
        needs_(choices) {
    const auto of = [&](const auto& number) {
      return numbers_of(choices, vectors_.device(), number);
    };
    memory_shares_ = of([](const EstimatorChoice& c) { return c.memory_share; });
    remembers_ =
        of([](const EstimatorChoice& c) { return c.needs_memory; }).unsqueeze(1).gt(0);
  }

  void reset(const Array& latents) override {
    if (!needs_.memory) return;
    put(latents.detach().to(vectors_.scalar_type()), latents_);
    const Array all = latents_.to(nd::kDouble);
    put(relationship_.rotate(all), rotated_);
    put(all.square().sum({1, 2}), total_square_);
  }

  bool is_repeatable() const override { return vectors_.is_cuda(); }

  const Array& latents() const override { return latents_; }

  Array precision_rows(const Array& parameters, const Array& rows,
                       const Array& latents) override {
    const Array checked =
        relationship_.checked_latents(parameters, latents, rows.size(0));
    batch_ = checked.to(vectors_.scalar_type());
    rows_of_q_ = vectors_.index_select(0, rows);
    rotate(rows);
    const SpectralFunction inverse = relationship_.precision(parameters);
    const double weight = relationship_.pair_weight(rows.size(0));
    // The mixture of the coordinates is multiplied with Q, so that memory and pairs
    // need one product together.
    Array mixture;
    if (needs_.pairs) {
      mixture = (inverse.inside * ((1 - memory_shares_) * weight)).unsqueeze(2) *
                rotated_batch_;
    }
    if (needs_.memory) {
      const Array remembered =
          (inverse.inside * memory_shares_).unsqueeze(2) * rotated_;
      mixture = mixture.defined() ? mixture.add_(remembered) : remembered;
    }
    const Array products =
        apart(nd::mm(rows_of_q_, mixture.to(vectors_.scalar_type()).view({rank(), -1})),
              parameters.size(0));
    Array own = inverse.outside.unsqueeze(0);
    if (needs_.pairs) {
      own = own + (1 - memory_shares_) * (1 - weight) * of_squares(inverse.inside);
    }
    return products + own.t().unsqueeze(2) * batch_;
  }

  Array parameter_gradient(const Array& parameters) override {
    Array remembered;
    if (needs_.memory) {
      remembered = relationship_.gradient_from_squares(
          parameters, relationship_.squares(rotated_, total_square_), batch_.size(2));
      if (!needs_.pairs_gradient) return remembered;
    }
    const SpectralFunction slope = relationship_.precision_slope(parameters);
    const Array squares = batch_.to(nd::kDouble).square().sum(2);
    const Array all_pairs =
        (slope.inside * rotated_batch_.to(nd::kDouble).square().sum(2)).sum(0) +
        slope.outside * squares.sum(1);
    const Array diagonal =
        ((of_squares(slope.inside) + slope.outside).t() * squares).sum(1);
    const double weight = relationship_.pair_weight(batch_.size(1));
    const double scale =
        static_cast<double>(relationship_.rows()) / static_cast<double>(batch_.size(1));
    const Array pairs = 0.5 * (static_cast<double>(batch_.size(2)) *
                                   relationship_.log_det_slope(parameters) +
                               scale * (weight * all_pairs + (1 - weight) * diagonal))
                                  .unsqueeze(1);
    return needs_.memory ? nd::where(remembers_, remembered, pairs) : pairs;
  }

 private:
  std::int64_t rank() const { return relationship_.rank(); }

  /// In place where there is one.
  static void put(const Array& from, Array& to) {
    if (to.defined()) {
      to.copy_(from);
    } else {
      to = from.clone();
    }
  }

  /// Takes the batch into the memory and rotates what is new, in one product.
  void rotate(const Array& rows) {
    Array columns = side_by_side(batch_);
    const std::int64_t width = columns.size(1);
    if (needs_.memory) {
      const Array before = latents_.index_select(1, rows);
      latents_.index_copy_(1, rows, batch_);
      const Array change = batch_ - before;
      total_square_ += (change.to(nd::kDouble) * (batch_ + before)).sum({1, 2});
      columns = needs_.pairs ? nd::cat({side_by_side(change), columns}, 1)
                             : side_by_side(change);
    }
    const Array rotated = nd::mm(rows_of_q_.t(), columns);
    const auto part = [&](std::int64_t first) {
      return rotated.narrow(1, first, width).unflatten(1, {batch_.size(0), -1});
    };
    if (needs_.memory) rotated_ += part(0);
    if (needs_.pairs) rotated_batch_ = part(rotated.size(1) - width);
  }

  /// Squared elements of the batch's rows of Q times functions [k, R]: [b, R] float64.
  Array of_squares(const Array& functions) const {
    return nd::mm(rows_of_q_.square(), functions.to(vectors_.scalar_type()))
        .to(nd::kDouble);
  }

  const Relationship& relationship_;
  Array vectors_;  // Q [n, k]
  EstimatorNeeds needs_;
  Array memory_shares_;  // [R]
  Array remembers_;      // [R, 1] bool

  Array latents_;       // [R, n, p]
  Array rotated_;       // [k, R, p] float64
  Array total_square_;  // [R] float64

  // Of the last batch.
  Array batch_;          // [R, b, p]
  Array rows_of_q_;      // [b, k]
  Array rotated_batch_;  // [k, R, p]
};

std::unique_ptr<BatchEstimator> Relationship::make_array_estimator(
    const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const {
  return std::make_unique<ArrayEstimator>(*this, choices, type);
}

std::unique_ptr<BatchEstimator> Relationship::make_estimator(
    const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const {
  if (eigenvectors().is_cpu()) {
    return make_relationship_cpu_estimator(*this, choices, type);
  }
  return make_array_estimator(choices, type);
}

}  // namespace kinflow
