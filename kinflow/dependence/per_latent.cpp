// Columns as replicas of an inner structure of one column.
#include "kinflow/dependence/per_latent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/steady_math.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/batch_estimator.h"

namespace kinflow {

/// The inner structure's memory of the folded latents.
class FoldedLatents::Memory final : public LatentMemory {
 public:
  explicit Memory(const FoldedLatents& law)
      : LatentMemory(law.rows()), law_(law), inner_(law.inner_->make_memory()) {}

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    inner_->reset(law_.fold(latents_));
  }

  void update(const Array& rows, const Array& latents) override {
    exchange_rows(rows, latents);
    inner_->update(rows, law_.fold(latents));
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    return law_.unfold(inner_->precision_rows(law_.inner_parameters(parameters), rows));
  }

  Array parameter_gradient(const Array& parameters) const override {
    return law_.own_gradient(
        parameters, inner_->parameter_gradient(law_.inner_parameters(parameters)));
  }

 private:
  const FoldedLatents& law_;
  std::unique_ptr<LatentMemory> inner_;
};

/// The inner structure's estimator, with the choice of a replica for all its columns.
class FoldedLatents::Estimator final : public BatchEstimator {
 public:
  Estimator(const FoldedLatents& law, const std::vector<EstimatorChoice>& choices,
            nd::ScalarType type)
      : law_(law) {
    std::vector<EstimatorChoice> by_column;
    for (const auto& choice : choices) {
      by_column.insert(by_column.end(), static_cast<std::size_t>(law.latents_), choice);
    }
    inner_ = law.inner_->make_estimator(by_column, type);
  }

  void reset(const Array& latents) override { inner_->reset(law_.fold(latents)); }

  const Array& latents() const override {
    if (inner_->latents().defined()) latents_ = law_.unfold(inner_->latents());
    return latents_;
  }

  Array precision_rows(const Array& parameters, const Array& rows,
                       const Array& latents) override {
    return law_.unfold(inner_->precision_rows(law_.inner_parameters(parameters), rows,
                                              law_.fold(latents)));
  }

  Array parameter_gradient(const Array& parameters) override {
    return law_.own_gradient(
        parameters, inner_->parameter_gradient(law_.inner_parameters(parameters)));
  }

  bool is_repeatable() const override { return inner_->is_repeatable(); }
  bool uses_own_team() const override { return inner_->uses_own_team(); }

 private:
  const FoldedLatents& law_;
  std::unique_ptr<BatchEstimator> inner_;
  mutable Array latents_;  // those of the inner estimator, unfolded
};

FoldedLatents::FoldedLatents(std::shared_ptr<const Dependence> inner,
                             std::int64_t latents)
    : inner_(std::move(inner)), latents_(latents) {
  if (latents < 1 || inner_->distinct_latents() != 1) {
    throw InputError(
        fmt::format("[PerLatent] expected at least one latent, and a structure that is "
                    "the same for all of them, received {} and one for {}",
                    latents, inner_->distinct_latents()));
  }
}

Array FoldedLatents::fold(const Array& latents) const {
  if (latents.dim() != 3 || latents.size(2) != latents_) {
    throw InputError(fmt::format("[{}] expected latents [R, n, {}], received [{}]",
                                 kind(), latents_, fmt::join(latents.sizes(), ", ")));
  }
  return latents.transpose(1, 2).reshape(
      {latents.size(0) * latents_, latents.size(1), 1});
}

Array FoldedLatents::unfold(const Array& folded) const {
  return folded.view({folded.size(0) / latents_, latents_, folded.size(1)})
      .transpose(1, 2);
}

Array FoldedLatents::log_det(const Array& parameters) const {
  return inner_->log_det(inner_parameters(parameters)).view({-1, latents_}).mean(1);
}

Array FoldedLatents::precision_times(const Array& parameters,
                                     const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  return unfold(inner_->precision_times(inner_parameters(parameters), fold(all)));
}

Array FoldedLatents::quadratic(const Array& parameters, const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  return inner_->quadratic(inner_parameters(parameters), fold(all))
      .view({-1, latents_})
      .sum(1);
}

Array FoldedLatents::parameter_gradient(const Array& parameters,
                                        const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  return own_gradient(
      parameters, inner_->parameter_gradient(inner_parameters(parameters), fold(all)));
}

Array FoldedLatents::pairs_rows(const Array& parameters, const Array& rows,
                                const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  return unfold(inner_->pairs_rows(inner_parameters(parameters), rows, fold(batch)));
}

Array FoldedLatents::pairs_parameter_gradient(const Array& parameters,
                                              const Array& rows,
                                              const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  return own_gradient(parameters, inner_->pairs_parameter_gradient(
                                      inner_parameters(parameters), rows, fold(batch)));
}

std::unique_ptr<LatentMemory> FoldedLatents::make_memory() const {
  return std::make_unique<Memory>(*this);
}

std::unique_ptr<BatchEstimator> FoldedLatents::make_estimator(
    const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const {
  return std::make_unique<Estimator>(*this, choices, type);
}

Array FoldedLatents::parameters_by_latent(const Array& parameters) const {
  return inner_parameters(checked_one_replica(parameters).unsqueeze(0));
}

Array FoldedLatents::column(const Array& latents, std::int64_t latent) const {
  if (latents.dim() != 2 || latents.size(1) != latents_) {
    throw InputError(fmt::format("[{}] expected latents [q, {}], received [{}]", kind(),
                                 latents_, fmt::join(latents.sizes(), ", ")));
  }
  return latents.narrow(1, latent, 1);
}

Array FoldedLatents::sample(const Array& parameters, std::int64_t columns,
                            Random& random) const {
  if (columns != latents_) {
    throw InputError(fmt::format("[{}] expected {} columns to draw, received {}",
                                 kind(), latents_, columns));
  }
  const Array own = parameters_by_latent(parameters);
  std::vector<Array> draws;
  for (std::int64_t j = 0; j < latents_; ++j) {
    draws.push_back(inner_->sample(own[j], 1, random));
  }
  return nd::cat(draws, 1);
}

Array FoldedLatents::covariance(const Array& parameters) const {
  const Array own = parameters_by_latent(parameters);
  std::vector<Array> matrices;
  for (std::int64_t j = 0; j < latents_; ++j) {
    matrices.push_back(inner_->covariance(own[j]));
  }
  return nd::cat(matrices);
}

ConditionalLaw FoldedLatents::condition(const Array& parameters, const Array& observed,
                                        const Array& latents) const {
  const Array own = parameters_by_latent(parameters);
  Array unknown;
  std::vector<Array> means, covariances;
  for (std::int64_t j = 0; j < latents_; ++j) {
    const auto law = inner_->condition(own[j], observed, column(latents, j));
    unknown = law.rows;
    means.push_back(law.mean);
    covariances.push_back(law.covariance);
  }
  return {unknown, nd::cat(means, 1), nd::cat(covariances)};
}

ConditionalRows FoldedLatents::condition_rows(const Array& parameters,
                                              const Array& observed,
                                              const Array& latents) const {
  const Array own = parameters_by_latent(parameters);
  Array unknown;
  std::vector<Array> means, variances;
  for (std::int64_t j = 0; j < latents_; ++j) {
    const auto law = inner_->condition_rows(own[j], observed, column(latents, j));
    unknown = law.rows;
    means.push_back(law.mean);
    variances.push_back(law.variance);
  }
  return {unknown, nd::cat(means, 1), nd::cat(variances, 1)};
}

Array FoldedLatents::sample_given(const Array& parameters, const Array& observed,
                                  const Array& latents, Random& random) const {
  const Array own = parameters_by_latent(parameters);
  std::vector<Array> draws;
  for (std::int64_t j = 0; j < latents_; ++j) {
    draws.push_back(inner_->sample_given(own[j], observed, column(latents, j), random));
  }
  return nd::cat(draws, 1);
}

PerLatent::PerLatent(std::shared_ptr<const Dependence> inner, std::int64_t latents)
    : FoldedLatents(std::move(inner), latents) {}

std::int64_t PerLatent::parameter_count() const {
  return distinct_latents() * inner().parameter_count();
}

Array PerLatent::inner_parameters(const Array& parameters) const {
  const Array checked = checked_parameters(parameters);
  return checked.reshape(
      {checked.size(0) * distinct_latents(), inner().parameter_count()});
}

Array PerLatent::own_gradient(const Array& parameters,
                              const Array& inner_gradient) const {
  return inner_gradient.reshape(parameters.sizes());
}

Array PerLatent::to_unconstrained(const Array& parameters) const {
  return inner()
      .to_unconstrained(inner_parameters(parameters))
      .reshape(parameters.sizes());
}

Array PerLatent::from_unconstrained(const Array& unconstrained) const {
  return inner()
      .from_unconstrained(inner_parameters(unconstrained))
      .reshape(unconstrained.sizes());
}

Array PerLatent::unconstrained_gradient(const Array& parameters,
                                        const Array& gradient) const {
  return inner()
      .unconstrained_gradient(inner_parameters(parameters), inner_parameters(gradient))
      .reshape(gradient.sizes());
}

Array PerLatent::unconstrained_prior_gradient(const Array& parameters) const {
  return inner()
      .unconstrained_prior_gradient(inner_parameters(parameters))
      .reshape(parameters.sizes());
}

Array PerLatent::prior_objective(const Array& parameters) const {
  return inner()
      .prior_objective(inner_parameters(parameters))
      .view({-1, distinct_latents()})
      .sum(1);
}

Array PerLatent::default_parameters() const {
  return inner().default_parameters().repeat({distinct_latents()});
}

Array PerLatent::most_likely(const Array& latents, const Array& start,
                             double prior) const {
  return inner()
      .most_likely(fold(checked_latents(start, latents, rows())),
                   inner_parameters(start), prior)
      .reshape(start.sizes());
}

std::optional<std::int64_t> PerLatent::edges_of_independence() const {
  const auto edges = inner().edges_of_independence();
  if (!edges) return std::nullopt;
  return distinct_latents() * *edges;
}

const Blocks* blocks_of(const Dependence& law) {
  const auto* folded = dynamic_cast<const FoldedLatents*>(&law);
  return dynamic_cast<const Blocks*>(folded != nullptr ? &folded->inner() : &law);
}

Array log_density_by_block(const Dependence& law, const Array& parameters,
                           const Array& rows, const Array& latents) {
  const Blocks& blocks = *blocks_of(law);
  const Array values =
      law.interpreted(parameters.unsqueeze(0)).view({law.distinct_latents(), -1});
  // The correlation of each block in each latent, 0 in blocks of one row: [B, L].
  const Array slot = blocks.parameter_of_block().remainder(values.size(1) + 1);
  const Array rho =
      nd::constant_pad_nd(values, {0, 1}).index_select(1, slot).t().contiguous();
  const Array block = blocks.block_of_row().index_select(0, rows);
  const Array u = latents.to(nd::kDouble);
  const auto sum = [&](const Array& of_rows) {
    return nd::zeros({blocks.block_count(), of_rows.size(1)}, u.options())
        .index_add_(0, block, of_rows);
  };
  const Array count = sum(nd::ones({u.size(0), 1}, u.options()));
  const Array along = sum(u).square() / count.clamp_min(1);
  const Array across = sum(u.square()) - along;
  const Array along_value = 1 + (count - 1).clamp_min(0) * rho;
  const Array across_value = 1 - rho;
  const Array log_det =
      along_value.log() + (count - 1).clamp_min(0) * across_value.log();
  const auto columns = static_cast<double>(u.size(1));
  return -0.5 * ((along / along_value + across / across_value).sum(1) +
                 columns * log_det.mean(1) +
                 columns * std::log(2 * std::numbers::pi) * count.squeeze(1));
}

std::unique_ptr<Dependence> make_blocks(const Array& block_of_row,
                                        const BlocksOptions& options) {
  if (options.correlation == BlockCorrelation::per_block_and_latent) {
    return std::make_unique<BlockAndLatentEffects>(block_of_row, options.columns);
  }
  if (options.correlation == BlockCorrelation::per_latent) {
    return std::make_unique<PerLatent>(
        std::make_shared<Blocks>(block_of_row, BlocksOptions{BlockCorrelation::shared}),
        options.columns);
  }
  return std::make_unique<Blocks>(block_of_row, options);
}

}  // namespace kinflow
