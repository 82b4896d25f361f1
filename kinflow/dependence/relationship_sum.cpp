// Sums of relationship matrices by Cholesky factors of C.
#include "kinflow/dependence/relationship_sum.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kinflow/core/error.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {
namespace {

constexpr double kSmallestWeight = 1e-9;

/// The batch's part of C^-1, [R, b, b].
at::Tensor batch_part(const at::Tensor& precision, const at::Tensor& rows) {
  return precision.index_select(1, rows).index_select(2, rows);
}

/// The weight of every pair of a batch: 1 on the diagonal, [b, b].
at::Tensor pair_weights(double weight, const at::Tensor& batch) {
  const std::int64_t b = batch.size(1);
  return at::eye(b, batch.options()) * (1 - weight) + weight;
}

}  // namespace

/// Keeps the latents alone; rows of C^-1 are at hand.
class RelationshipSum::Memory final : public LatentMemory {
 public:
  explicit Memory(const RelationshipSum& law) : LatentMemory(law.rows()), law_(law) {}

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    exchange_rows(rows, latents);
  }
  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    return at::bmm(law_.inverse(parameters)->precision.index_select(1, rows),
                   latents_.to(at::kDouble));
  }
  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
    return law_.parameter_gradient(parameters, latents_);
  }

 private:
  const RelationshipSum& law_;
};

RelationshipSum::RelationshipSum(const std::vector<at::Tensor>& relationships,
                                 RelationshipSumOptions options) {
  if (relationships.empty()) {
    throw InputError("[RelationshipSum] expected at least one matrix, received none");
  }
  std::vector<at::Tensor> all;
  for (const at::Tensor& relationship : relationships) {
    check_relationship(relationship.detach());
    if (relationship.size(0) != relationships[0].size(0)) {
      throw InputError(fmt::format(
          "[RelationshipSum] expected matrices of one size, received {} and {} rows",
          relationships[0].size(0), relationship.size(0)));
    }
    if (relationship.size(0) > options.largest_rows) {
      throw InputError(fmt::format(
          "[RelationshipSum] expected at most {} rows, received {}; one relationship "
          "alone (dense, of low rank or sparse) has no such limit",
          options.largest_rows, relationship.size(0)));
    }
    all.push_back(relationship.detach().to(at::kDouble));
    check_positive_semidefinite(all.back());
  }
  relationships_ = at::stack(all);
}

at::Tensor RelationshipSum::covariances(const at::Tensor& weights) const {
  const std::int64_t n = rows();
  at::Tensor result =
      at::mm(weights.narrow(1, 1, weights.size(1) - 1), relationships_.flatten(1))
          .view({weights.size(0), n, n});
  result.diagonal(0, 1, 2).add_(weights.narrow(1, 0, 1));
  return result;
}

at::Tensor RelationshipSum::cholesky(const at::Tensor& weights) const {
  const auto [factor, info] = at::linalg_cholesky_ex(covariances(weights));
  const at::Tensor failed = at::nonzero(info);
  if (failed.size(0) > 0) {
    const at::Tensor of_replica = weights[failed[0][0].item<std::int64_t>()].cpu();
    throw NumericalError(fmt::format(
        "[RelationshipSum] C is not positive definite at the weights {}",
        fmt::join(of_replica.data_ptr<double>(),
                  of_replica.data_ptr<double>() + of_replica.numel(), ", ")));
  }
  return factor;
}

std::shared_ptr<const RelationshipSum::Inverse> RelationshipSum::inverse(
    const at::Tensor& parameters) const {
  const at::Tensor weights = checked_parameters(parameters).detach();
  const std::lock_guard lock(mutex_);
  if (last_ && last_->weights.sizes() == weights.sizes() &&
      at::equal(last_->weights, weights)) {
    return last_;
  }
  last_.reset();
  const at::Tensor factor = cholesky(weights);
  const at::Tensor precision = at::cholesky_inverse(factor);
  const at::Tensor own = precision.diagonal(0, 1, 2).sum(1, /*keepdim=*/true);
  const at::Tensor others = at::mm(precision.flatten(1), relationships_.flatten(1).t());
  last_ = std::make_shared<Inverse>(Inverse{weights.clone(), precision,
                                            2 * factor.diagonal(0, 1, 2).log().sum(1),
                                            at::cat({own, others}, 1)});
  return last_;
}

at::Tensor RelationshipSum::forms(const at::Tensor& left,
                                  const at::Tensor& right) const {
  std::vector<at::Tensor> result = {(left * right).sum({1, 2})};
  for (std::int64_t r = 0; r < relationships_.size(0); ++r) {
    result.push_back((left * at::matmul(relationships_[r], right)).sum({1, 2}));
  }
  return at::stack(result, 1);
}

at::Tensor RelationshipSum::log_det(const at::Tensor& parameters) const {
  return inverse(parameters)->log_det;
}

at::Tensor RelationshipSum::precision_times(const at::Tensor& parameters,
                                            const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows());
  return at::bmm(inverse(parameters)->precision, all);
}

at::Tensor RelationshipSum::parameter_gradient(const at::Tensor& parameters,
                                               const at::Tensor& latents) const {
  const at::Tensor weighted = precision_times(parameters, latents);
  const double columns = static_cast<double>(latents.size(2));
  return 0.5 * (columns * inverse(parameters)->traces - forms(weighted, weighted));
}

at::Tensor RelationshipSum::pairs_rows(const at::Tensor& parameters,
                                       const at::Tensor& rows,
                                       const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor weights = pair_weights(pair_weight(rows.size(0)), batch);
  return at::bmm(weights * batch_part(inverse(parameters)->precision, rows), batch);
}

at::Tensor RelationshipSum::pairs_parameter_gradient(const at::Tensor& parameters,
                                                     const at::Tensor& rows,
                                                     const at::Tensor& latents) const {
  // A changes by -A G_r A; the trace over the batch's pairs is a product of columns
  // of A with the same columns, mixed by the weighted products of latents.
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const auto known = inverse(parameters);
  const at::Tensor products = pair_weights(pair_weight(rows.size(0)), batch) *
                              at::bmm(batch, batch.transpose(1, 2));
  const at::Tensor columns_of_precision = known->precision.index_select(2, rows);
  const at::Tensor trace_slope =
      -forms(at::bmm(columns_of_precision, products), columns_of_precision);
  const double columns = static_cast<double>(batch.size(2));
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  return 0.5 * (columns * known->traces + scale * trace_slope);
}

std::unique_ptr<LatentMemory> RelationshipSum::make_memory() const {
  return std::make_unique<Memory>(*this);
}

at::Tensor RelationshipSum::to_unconstrained(const at::Tensor& parameters) const {
  return parameters.to(at::kDouble).clamp_min(kSmallestWeight).log();
}

at::Tensor RelationshipSum::from_unconstrained(const at::Tensor& unconstrained) const {
  return at::softmax(unconstrained.to(at::kDouble), 1).clamp_min(kSmallestWeight);
}

at::Tensor RelationshipSum::unconstrained_gradient(const at::Tensor& parameters,
                                                   const at::Tensor& gradient) const {
  const at::Tensor mean = (parameters * gradient).sum(1, /*keepdim=*/true);
  return parameters * (gradient - mean);
}

at::Tensor RelationshipSum::unconstrained_prior_gradient(
    const at::Tensor& parameters) const {
  return static_cast<double>(parameter_count()) * parameters - 1;
}

at::Tensor RelationshipSum::prior_objective(const at::Tensor& parameters) const {
  return -checked_parameters(parameters).log().sum(1);
}

at::Tensor RelationshipSum::default_parameters() const {
  const std::int64_t count = parameter_count();
  return at::full({count}, 1 / static_cast<double>(count), at::kDouble);
}

at::Tensor RelationshipSum::sample(const at::Tensor& parameters, std::int64_t columns,
                                   Random& random) const {
  const at::Tensor factor =
      cholesky(checked_one_replica(parameters).unsqueeze(0)).squeeze(0);
  const at::Tensor normal = standard_normal(rows(), columns, random);
  return at::mm(factor, normal.to(factor.device())).cpu();
}

at::Tensor RelationshipSum::covariance(const at::Tensor& parameters) const {
  return covariances(checked_one_replica(parameters).unsqueeze(0)).squeeze(0);
}

}  // namespace kinflow
