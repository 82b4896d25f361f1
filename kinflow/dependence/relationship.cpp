// A relationship matrix through its spectral decomposition, complete or of low rank.
#include "kinflow/dependence/relationship.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/tensor_numbers.h"
#include "kinflow/core/workers.h"
#include "kinflow/dependence/likelihood_curve.h"
#include "kinflow/dependence/side_by_side.h"

namespace kinflow {

/// Keeps the latents rotated into the eigenvectors' coordinates, and their sum of
/// squares; a batch adds the rotation of what changed in its rows.
class Relationship::Memory final : public LatentMemory {
 public:
  explicit Memory(const Relationship& relationship)
      : LatentMemory(relationship.rows()), relationship_(relationship) {}

  void reset(const at::Tensor& latents) override {
    LatentMemory::reset(latents);
    const at::Tensor all = latents_.to(at::kDouble);
    rotated_ = relationship_.rotate(all);
    total_square_ = all.square().sum({1, 2});
  }

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    const at::Tensor before = exchange_rows(rows, latents);
    const at::Tensor after = latents_.index_select(1, rows).to(at::kDouble);
    const at::Tensor change = after - before;
    const at::Tensor vectors = relationship_.eigenvectors().index_select(0, rows);
    rotated_.view({relationship_.rank(), -1}).addmm_(vectors.t(), side_by_side(change));
    total_square_ += (change * (after + before)).sum({1, 2});
  }

  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    return rows_of_product(relationship_.precision(parameters),
                           relationship_.eigenvectors().index_select(0, rows),
                           latents_.index_select(1, rows).to(at::kDouble), rotated_);
  }

  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
    return relationship_.gradient_from_squares(
        parameters, relationship_.squares(rotated_, total_square_), latents_.size(2));
  }

 private:
  const Relationship& relationship_;
  at::Tensor rotated_;       // [k, R, p]
  at::Tensor total_square_;  // [R]
};

Relationship::Relationship(const at::Tensor& relationship)
    : Relationship(decompose_relationship(relationship)) {}

Relationship::Relationship(SpectralDecomposition decomposition)
    : decomposition_(std::move(decomposition)) {
  const at::Tensor& vectors = decomposition_.eigenvectors;
  const at::Tensor& values = decomposition_.eigenvalues;
  if (values.dim() != 1 || vectors.dim() != 2 || vectors.size(1) != values.size(0) ||
      vectors.size(0) < values.size(0) || values.size(0) == 0) {
    throw InputError(fmt::format(
        "[Relationship] expected eigenvectors [n, k] and eigenvalues [k] with "
        "1 <= k <= n, received [{}] and [{}]",
        fmt::join(vectors.sizes(), ", "), fmt::join(values.sizes(), ", ")));
  }
  if (!(values >= 0).all().item<bool>()) {
    throw InputError(fmt::format(
        "[Relationship] expected eigenvalues of at least 0, received {:.6g}",
        values.min().item<double>()));
  }
  decomposition_.eigenvectors = vectors.to(at::kDouble).contiguous();
  decomposition_.eigenvalues = values.to(at::kDouble).contiguous();
}

at::Tensor Relationship::variances(const at::Tensor& parameters) const {
  const at::Tensor own_share = checked_parameters(parameters).t();
  return own_share + (1 - own_share) * eigenvalues().unsqueeze(1);
}

Relationship::SpectralFunction Relationship::precision(
    const at::Tensor& parameters) const {
  const at::Tensor variance = variances(parameters);
  const at::Tensor own_share = parameters.to(at::kDouble).t();
  if (is_complete()) return {variance.reciprocal(), at::zeros_like(own_share[0])};
  // 1/v - 1/lambda, without the difference.
  const at::Tensor inside =
      (own_share - 1) * eigenvalues().unsqueeze(1) / (variance * own_share);
  return {inside, own_share[0].reciprocal()};
}

Relationship::SpectralFunction Relationship::precision_slope(
    const at::Tensor& parameters) const {
  const at::Tensor inside =
      (eigenvalues() - 1).unsqueeze(1) / variances(parameters).square();
  const at::Tensor own_share = parameters.to(at::kDouble).t()[0];
  if (is_complete()) return {inside, at::zeros_like(own_share)};
  const at::Tensor outside = -own_share.pow(-2);
  return {inside - outside, outside};
}

at::Tensor Relationship::log_det_slope(const at::Tensor& parameters) const {
  const at::Tensor inside =
      ((1 - eigenvalues()).unsqueeze(1) / variances(parameters)).sum(0);
  const auto missing = static_cast<double>(rows() - rank());
  return inside + missing / parameters.to(at::kDouble).select(1, 0);
}

at::Tensor Relationship::rotate(const at::Tensor& latents) const {
  return at::mm(eigenvectors().t(), side_by_side(latents))
      .view({rank(), latents.size(0), latents.size(2)});
}

Relationship::Squares Relationship::squares(const at::Tensor& rotated,
                                            const at::Tensor& total) const {
  const at::Tensor along = rotated.square().sum(2);
  if (is_complete()) return {along, at::zeros_like(total)};
  return {along, (total - along.sum(0)).clamp_min(0)};
}

at::Tensor Relationship::rows_of_product(const SpectralFunction& function,
                                         const at::Tensor& vectors,
                                         const at::Tensor& latents,
                                         const at::Tensor& rotated) {
  const at::Tensor scaled = rotated * function.inside.unsqueeze(2);
  return at::mm(vectors, scaled.view({vectors.size(1), -1}))
             .view({vectors.size(0), rotated.size(1), rotated.size(2)})
             .transpose(0, 1) +
         function.outside.view({-1, 1, 1}) * latents;
}

at::Tensor Relationship::gradient_from_squares(const at::Tensor& parameters,
                                               const Squares& squares,
                                               std::int64_t columns) const {
  const SpectralFunction slope = precision_slope(parameters);
  // Along the eigenvectors 1/v changes by `inside + outside`.
  const at::Tensor trace_slope =
      ((slope.inside + slope.outside) * squares.along).sum(0) +
      slope.outside * squares.rest;
  return 0.5 * (static_cast<double>(columns) * log_det_slope(parameters) + trace_slope)
                   .unsqueeze(1);
}

at::Tensor Relationship::log_det(const at::Tensor& parameters) const {
  const auto missing = static_cast<double>(rows() - rank());
  return variances(parameters).log().sum(0) +
         missing * parameters.to(at::kDouble).select(1, 0).log();
}

at::Tensor Relationship::precision_times(const at::Tensor& parameters,
                                         const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows());
  return rows_of_product(precision(parameters), eigenvectors(), all, rotate(all));
}

at::Tensor Relationship::quadratic(const at::Tensor& parameters,
                                   const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows());
  const Squares square = squares(rotate(all), all.square().sum({1, 2}));
  return (square.along / variances(parameters)).sum(0) +
         square.rest / parameters.to(at::kDouble).select(1, 0);
}

at::Tensor Relationship::parameter_gradient(const at::Tensor& parameters,
                                            const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows());
  return gradient_from_squares(
      parameters, squares(rotate(all), all.square().sum({1, 2})), all.size(2));
}

at::Tensor Relationship::pairs_rows(const at::Tensor& parameters,
                                    const at::Tensor& rows,
                                    const at::Tensor& latents) const {
  // With A = C^-1 the batch needs A_bb U_b, two thin products with the batch's rows of
  // Q, and the diagonal of A_bb; A_bb itself would cost b/p times as much.
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor vectors = eigenvectors().index_select(0, rows);
  const at::Tensor rotated = at::mm(vectors.t(), side_by_side(batch))
                                 .view({rank(), batch.size(0), batch.size(2)});
  const SpectralFunction inverse = precision(parameters);
  const at::Tensor diagonal =
      (at::mm(vectors.square(), inverse.inside) + inverse.outside).t().unsqueeze(2);
  const double weight = pair_weight(rows.size(0));
  return weight * rows_of_product(inverse, vectors, batch, rotated) +
         (1 - weight) * diagonal * batch;
}

at::Tensor Relationship::pairs_parameter_gradient(const at::Tensor& parameters,
                                                  const at::Tensor& rows,
                                                  const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor vectors = eigenvectors().index_select(0, rows);
  const at::Tensor rotated = at::mm(vectors.t(), side_by_side(batch))
                                 .view({rank(), batch.size(0), batch.size(2)});
  const SpectralFunction slope = precision_slope(parameters);
  const at::Tensor squares = batch.square().sum(2);

  const at::Tensor all_pairs =
      (slope.inside * rotated.square().sum(2)).sum(0) + slope.outside * squares.sum(1);
  const at::Tensor diagonal =
      ((at::mm(vectors.square(), slope.inside) + slope.outside).t() * squares).sum(1);
  const double weight = pair_weight(rows.size(0));
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  const double columns = static_cast<double>(batch.size(2));
  return 0.5 * (columns * log_det_slope(parameters) +
                scale * (weight * all_pairs + (1 - weight) * diagonal))
                   .unsqueeze(1);
}

at::Tensor Relationship::most_likely(const at::Tensor& latents, const at::Tensor& start,
                                     double prior) const {
  at::Tensor result = at::empty(checked_parameters(start).sizes(), at::kDouble);
  const at::Tensor all = checked_latents(result, latents, rows());
  const Squares square = squares(rotate(all), all.square().sum({1, 2}));
  const at::Tensor along = square.along.t().cpu().contiguous();
  const at::Tensor rest = square.rest.cpu();
  const at::Tensor values = eigenvalues().cpu();
  const auto missing = static_cast<double>(rows() - rank());
  shared_workers().run(along.size(0), [&](std::int64_t r, std::int64_t /*thread*/) {
    std::vector<SpectralTerm> terms;
    terms.reserve(static_cast<std::size_t>(rank() + 1));
    for (std::int64_t k = 0; k < rank(); ++k) {
      terms.push_back(
          {values.data_ptr<double>()[k], 1, along.data_ptr<double>()[r * rank() + k]});
    }
    if (missing > 0) terms.push_back({0, missing, rest.data_ptr<double>()[r]});
    result.data_ptr<double>()[r] =
        most_likely_lambda(terms, static_cast<double>(all.size(2)), prior);
  });
  return result.to(start.device());
}

std::unique_ptr<LatentMemory> Relationship::make_memory() const {
  return std::make_unique<Memory>(*this);
}

at::Tensor Relationship::sample(const at::Tensor& parameters, std::int64_t columns,
                                Random& random) const {
  const at::Tensor one = checked_one_replica(parameters);
  const at::Tensor normal = normal_numbers({rank(), columns}, random).to(one.device());
  if (is_complete()) {
    return at::mm(eigenvectors(), variances(one.unsqueeze(0)).sqrt() * normal).cpu();
  }
  const at::Tensor scale = ((1 - one) * eigenvalues()).sqrt().unsqueeze(1);
  const at::Tensor own = normal_numbers({rows(), columns}, random);
  return at::mm(eigenvectors(), scale * normal).cpu() + one.sqrt().cpu() * own;
}

at::Tensor Relationship::covariance(const at::Tensor& parameters) const {
  const at::Tensor one = checked_one_replica(parameters);
  const at::Tensor variance = variances(one.unsqueeze(0));
  if (is_complete()) {
    return at::mm(eigenvectors() * variance.t(), eigenvectors().t()).unsqueeze(0);
  }
  return (at::mm(eigenvectors() * ((1 - one) * eigenvalues()), eigenvectors().t()) +
          one * at::eye(rows(), one.options()))
      .unsqueeze(0);
}

Relationship::FactorLaw Relationship::factors_given(const at::Tensor& parameters,
                                                    const at::Tensor& observed,
                                                    const at::Tensor& latents) const {
  const at::Tensor unknown = checked_unknown_rows(observed, latents);
  const at::Tensor own_share = checked_one_replica(parameters);
  const at::Tensor loading = eigenvectors() * ((1 - own_share) * eigenvalues()).sqrt();
  const at::Tensor seen = loading.index_select(0, observed);
  const at::Tensor precision =
      at::eye(rank(), loading.options()) + at::mm(seen.t(), seen) / own_share;
  const auto [root, info] = at::linalg_cholesky_ex(precision);
  if (info.item<int>() != 0) {
    throw NumericalError(
        "[relationship] the common factors given the observed rows have no positive "
        "definite precision");
  }
  const at::Tensor information = at::mm(seen.t(), latents.to(at::kDouble)) / own_share;
  return {unknown, loading, root, at::cholesky_solve(information, root)};
}

ConditionalLaw Relationship::condition(const at::Tensor& parameters,
                                       const at::Tensor& observed,
                                       const at::Tensor& latents) const {
  if (is_complete()) return Dependence::condition(parameters, observed, latents);
  const FactorLaw factors = factors_given(parameters, observed, latents);
  const at::Tensor loading = factors.loading.index_select(0, factors.unknown);
  const at::Tensor whitened =
      at::linalg_solve_triangular(factors.root, loading.t(), /*upper=*/false);
  const at::Tensor own = checked_one_replica(parameters).expand({loading.size(0)});
  return {factors.unknown, at::mm(loading, factors.mean),
          (at::mm(whitened.t(), whitened) + at::diag(own)).unsqueeze(0)};
}

ConditionalRows Relationship::condition_rows(const at::Tensor& parameters,
                                             const at::Tensor& observed,
                                             const at::Tensor& latents) const {
  if (!is_complete()) {
    const FactorLaw factors = factors_given(parameters, observed, latents);
    const at::Tensor loading = factors.loading.index_select(0, factors.unknown);
    const at::Tensor whitened =
        at::linalg_solve_triangular(factors.root, loading.t(), /*upper=*/false);
    return {factors.unknown, at::mm(loading, factors.mean),
            (whitened.square().sum(0) + checked_one_replica(parameters)).unsqueeze(1)};
  }
  const at::Tensor unknown = checked_unknown_rows(observed, latents);
  const at::Tensor variance =
      variances(checked_one_replica(parameters).unsqueeze(0)).squeeze(1);
  const at::Tensor seen = eigenvectors().index_select(0, observed);
  const at::Tensor unseen = eigenvectors().index_select(0, unknown);
  const at::Tensor known = latents.to(at::kDouble);
  const auto factor = [](const at::Tensor& matrix) {
    const auto [lower, info] = at::linalg_cholesky_ex(matrix);
    if (info.item<int>() != 0) {
      throw NumericalError(
          "[relationship] the covariance of the observed rows is not positive "
          "definite");
    }
    return lower;
  };
  if (unknown.size(0) <= observed.size(0)) {
    // With A = C^-1 the unknown rows have the covariance A_MM^-1 and the mean
    // -A_MM^-1 A_MO U_O.
    const at::Tensor scaled = unseen / variance;
    const at::Tensor lower = factor(at::mm(scaled, unseen.t()));
    return {unknown,
            -at::cholesky_solve(at::mm(scaled, at::mm(seen.t(), known)), lower),
            at::cholesky_inverse(lower).diagonal().clone().unsqueeze(1)};
  }
  const at::Tensor scaled = seen * variance;
  const at::Tensor lower = factor(at::mm(scaled, seen.t()));
  const at::Tensor whitened =
      at::linalg_solve_triangular(lower, at::mm(scaled, unseen.t()), /*upper=*/false);
  const at::Tensor whitened_latents =
      at::linalg_solve_triangular(lower, known, /*upper=*/false);
  return {unknown, at::mm(whitened.t(), whitened_latents),
          (at::mv(unseen.square(), variance) - whitened.square().sum(0)).unsqueeze(1)};
}

at::Tensor Relationship::sample_given(const at::Tensor& parameters,
                                      const at::Tensor& observed,
                                      const at::Tensor& latents, Random& random) const {
  if (is_complete()) {
    return Dependence::sample_given(parameters, observed, latents, random);
  }
  const FactorLaw factors = factors_given(parameters, observed, latents);
  const std::int64_t columns = latents.size(1);
  const at::Tensor normal =
      normal_numbers({rank(), columns}, random).to(factors.mean.device());
  const at::Tensor drawn = factors.mean + at::linalg_solve_triangular(
                                              factors.root.t(), normal, /*upper=*/true);
  const at::Tensor own = normal_numbers({rows(), columns}, random);
  at::Tensor draw = at::mm(factors.loading, drawn).cpu() +
                    checked_one_replica(parameters).sqrt().cpu() * own;
  return draw.index_copy_(0, observed.cpu(), latents.to(at::kCPU, at::kDouble));
}

}  // namespace kinflow
