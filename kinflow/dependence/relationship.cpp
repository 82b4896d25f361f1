// A relationship matrix through its spectral decomposition, complete or of low rank.
#include "kinflow/dependence/relationship.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
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

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    const Array all = latents_.to(nd::kDouble);
    rotated_ = relationship_.rotate(all);
    total_square_ = all.square().sum({1, 2});
  }

  void update(const Array& rows, const Array& latents) override {
    const Array before = exchange_rows(rows, latents);
    const Array after = latents_.index_select(1, rows).to(nd::kDouble);
    const Array change = after - before;
    const Array vectors = relationship_.eigenvectors().index_select(0, rows);
    rotated_.view({relationship_.rank(), -1}).addmm_(vectors.t(), side_by_side(change));
    total_square_ += (change * (after + before)).sum({1, 2});
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    return rows_of_product(relationship_.precision(parameters),
                           relationship_.eigenvectors().index_select(0, rows),
                           latents_.index_select(1, rows).to(nd::kDouble), rotated_);
  }

  Array parameter_gradient(const Array& parameters) const override {
    return relationship_.gradient_from_squares(
        parameters, relationship_.squares(rotated_, total_square_), latents_.size(2));
  }

 private:
  const Relationship& relationship_;
  Array rotated_;       // [k, R, p]
  Array total_square_;  // [R]
};

Relationship::Relationship(const Array& relationship)
    : Relationship(decompose_relationship(relationship)) {}

Relationship::Relationship(SpectralDecomposition decomposition)
    : decomposition_(std::move(decomposition)) {
  const Array& vectors = decomposition_.eigenvectors;
  const Array& values = decomposition_.eigenvalues;
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
  decomposition_.eigenvectors = vectors.to(nd::kDouble).contiguous();
  decomposition_.eigenvalues = values.to(nd::kDouble).contiguous();
}

Array Relationship::variances(const Array& parameters) const {
  const Array own_share = checked_parameters(parameters).t();
  return own_share + (1 - own_share) * eigenvalues().unsqueeze(1);
}

Relationship::SpectralFunction Relationship::precision(const Array& parameters) const {
  const Array variance = variances(parameters);
  const Array own_share = parameters.to(nd::kDouble).t();
  if (is_complete()) return {variance.reciprocal(), nd::zeros_like(own_share[0])};
  // 1/v - 1/lambda, without the difference.
  const Array inside =
      (own_share - 1) * eigenvalues().unsqueeze(1) / (variance * own_share);
  return {inside, own_share[0].reciprocal()};
}

Relationship::SpectralFunction Relationship::precision_slope(
    const Array& parameters) const {
  const Array inside =
      (eigenvalues() - 1).unsqueeze(1) / variances(parameters).square();
  const Array own_share = parameters.to(nd::kDouble).t()[0];
  if (is_complete()) return {inside, nd::zeros_like(own_share)};
  const Array outside = -own_share.pow(-2);
  return {inside - outside, outside};
}

Array Relationship::log_det_slope(const Array& parameters) const {
  const Array inside =
      ((1 - eigenvalues()).unsqueeze(1) / variances(parameters)).sum(0);
  const auto missing = static_cast<double>(rows() - rank());
  return inside + missing / parameters.to(nd::kDouble).select(1, 0);
}

Array Relationship::rotate(const Array& latents) const {
  return nd::mm(eigenvectors().t(), side_by_side(latents))
      .view({rank(), latents.size(0), latents.size(2)});
}

Relationship::Squares Relationship::squares(const Array& rotated,
                                            const Array& total) const {
  const Array along = rotated.square().sum(2);
  if (is_complete()) return {along, nd::zeros_like(total)};
  return {along, (total - along.sum(0)).clamp_min(0)};
}

Array Relationship::rows_of_product(const SpectralFunction& function,
                                    const Array& vectors, const Array& latents,
                                    const Array& rotated) {
  const Array scaled = rotated * function.inside.unsqueeze(2);
  return nd::mm(vectors, scaled.view({vectors.size(1), -1}))
             .view({vectors.size(0), rotated.size(1), rotated.size(2)})
             .transpose(0, 1) +
         function.outside.view({-1, 1, 1}) * latents;
}

Array Relationship::gradient_from_squares(const Array& parameters,
                                          const Squares& squares,
                                          std::int64_t columns) const {
  const SpectralFunction slope = precision_slope(parameters);
  // Along the eigenvectors 1/v changes by `inside + outside`.
  const Array trace_slope = ((slope.inside + slope.outside) * squares.along).sum(0) +
                            slope.outside * squares.rest;
  return 0.5 * (static_cast<double>(columns) * log_det_slope(parameters) + trace_slope)
                   .unsqueeze(1);
}

Array Relationship::log_det(const Array& parameters) const {
  const auto missing = static_cast<double>(rows() - rank());
  return variances(parameters).log().sum(0) +
         missing * parameters.to(nd::kDouble).select(1, 0).log();
}

Array Relationship::precision_times(const Array& parameters,
                                    const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  return rows_of_product(precision(parameters), eigenvectors(), all, rotate(all));
}

Array Relationship::quadratic(const Array& parameters, const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  const Squares square = squares(rotate(all), all.square().sum({1, 2}));
  return (square.along / variances(parameters)).sum(0) +
         square.rest / parameters.to(nd::kDouble).select(1, 0);
}

Array Relationship::parameter_gradient(const Array& parameters,
                                       const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  return gradient_from_squares(
      parameters, squares(rotate(all), all.square().sum({1, 2})), all.size(2));
}

Array Relationship::pairs_rows(const Array& parameters, const Array& rows,
                               const Array& latents) const {
  // With A = C^-1 the batch needs A_bb U_b, two thin products with the batch's rows of
  // Q, and the diagonal of A_bb; A_bb itself would cost b/p times as much.
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  const Array vectors = eigenvectors().index_select(0, rows);
  const Array rotated = nd::mm(vectors.t(), side_by_side(batch))
                            .view({rank(), batch.size(0), batch.size(2)});
  const SpectralFunction inverse = precision(parameters);
  const Array diagonal =
      (nd::mm(vectors.square(), inverse.inside) + inverse.outside).t().unsqueeze(2);
  const double weight = pair_weight(rows.size(0));
  return weight * rows_of_product(inverse, vectors, batch, rotated) +
         (1 - weight) * diagonal * batch;
}

Array Relationship::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                             const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  const Array vectors = eigenvectors().index_select(0, rows);
  const Array rotated = nd::mm(vectors.t(), side_by_side(batch))
                            .view({rank(), batch.size(0), batch.size(2)});
  const SpectralFunction slope = precision_slope(parameters);
  const Array squares = batch.square().sum(2);

  const Array all_pairs =
      (slope.inside * rotated.square().sum(2)).sum(0) + slope.outside * squares.sum(1);
  const Array diagonal =
      ((nd::mm(vectors.square(), slope.inside) + slope.outside).t() * squares).sum(1);
  const double weight = pair_weight(rows.size(0));
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  const double columns = static_cast<double>(batch.size(2));
  return 0.5 * (columns * log_det_slope(parameters) +
                scale * (weight * all_pairs + (1 - weight) * diagonal))
                   .unsqueeze(1);
}

Array Relationship::most_likely(const Array& latents, const Array& start,
                                double prior) const {
  Array result = nd::empty(checked_parameters(start).sizes(), nd::kDouble);
  const Array all = checked_latents(result, latents, rows());
  const Squares square = squares(rotate(all), all.square().sum({1, 2}));
  const Array along = square.along.t().cpu().contiguous();
  const Array rest = square.rest.cpu();
  const Array values = eigenvalues().cpu();
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

Array Relationship::sample(const Array& parameters, std::int64_t columns,
                           Random& random) const {
  const Array one = checked_one_replica(parameters);
  const Array normal = normal_numbers({rank(), columns}, random).to(one.device());
  if (is_complete()) {
    return nd::mm(eigenvectors(), variances(one.unsqueeze(0)).sqrt() * normal).cpu();
  }
  const Array scale = ((1 - one) * eigenvalues()).sqrt().unsqueeze(1);
  const Array own = normal_numbers({rows(), columns}, random);
  return nd::mm(eigenvectors(), scale * normal).cpu() + one.sqrt().cpu() * own;
}

Array Relationship::covariance(const Array& parameters) const {
  const Array one = checked_one_replica(parameters);
  const Array variance = variances(one.unsqueeze(0));
  if (is_complete()) {
    return nd::mm(eigenvectors() * variance.t(), eigenvectors().t()).unsqueeze(0);
  }
  return (nd::mm(eigenvectors() * ((1 - one) * eigenvalues()), eigenvectors().t()) +
          one * nd::eye(rows(), one.options()))
      .unsqueeze(0);
}

Relationship::FactorLaw Relationship::factors_given(const Array& parameters,
                                                    const Array& observed,
                                                    const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents);
  const Array own_share = checked_one_replica(parameters);
  const Array loading = eigenvectors() * ((1 - own_share) * eigenvalues()).sqrt();
  const Array seen = loading.index_select(0, observed);
  const Array precision =
      nd::eye(rank(), loading.options()) + nd::mm(seen.t(), seen) / own_share;
  const auto [root, info] = nd::linalg_cholesky_ex(precision);
  if (info.item<int>() != 0) {
    throw NumericalError(
        "[relationship] the common factors given the observed rows have no positive "
        "definite precision");
  }
  const Array information = nd::mm(seen.t(), latents.to(nd::kDouble)) / own_share;
  return {unknown, loading, root, nd::cholesky_solve(information, root)};
}

ConditionalLaw Relationship::condition(const Array& parameters, const Array& observed,
                                       const Array& latents) const {
  if (is_complete()) return Dependence::condition(parameters, observed, latents);
  const FactorLaw factors = factors_given(parameters, observed, latents);
  const Array loading = factors.loading.index_select(0, factors.unknown);
  const Array whitened =
      nd::linalg_solve_triangular(factors.root, loading.t(), /*upper=*/false);
  const Array own = checked_one_replica(parameters).expand({loading.size(0)});
  return {factors.unknown, nd::mm(loading, factors.mean),
          (nd::mm(whitened.t(), whitened) + nd::diag(own)).unsqueeze(0)};
}

ConditionalRows Relationship::condition_rows(const Array& parameters,
                                             const Array& observed,
                                             const Array& latents) const {
  if (!is_complete()) {
    const FactorLaw factors = factors_given(parameters, observed, latents);
    const Array loading = factors.loading.index_select(0, factors.unknown);
    const Array whitened =
        nd::linalg_solve_triangular(factors.root, loading.t(), /*upper=*/false);
    return {factors.unknown, nd::mm(loading, factors.mean),
            (whitened.square().sum(0) + checked_one_replica(parameters)).unsqueeze(1)};
  }
  const Array unknown = checked_unknown_rows(observed, latents);
  const Array variance =
      variances(checked_one_replica(parameters).unsqueeze(0)).squeeze(1);
  const Array seen = eigenvectors().index_select(0, observed);
  const Array unseen = eigenvectors().index_select(0, unknown);
  const Array known = latents.to(nd::kDouble);
  const auto factor = [](const Array& matrix) {
    const auto [lower, info] = nd::linalg_cholesky_ex(matrix);
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
    const Array scaled = unseen / variance;
    const Array lower = factor(nd::mm(scaled, unseen.t()));
    return {unknown,
            -nd::cholesky_solve(nd::mm(scaled, nd::mm(seen.t(), known)), lower),
            nd::cholesky_inverse(lower).diagonal().clone().unsqueeze(1)};
  }
  const Array scaled = seen * variance;
  const Array lower = factor(nd::mm(scaled, seen.t()));
  const Array whitened =
      nd::linalg_solve_triangular(lower, nd::mm(scaled, unseen.t()), /*upper=*/false);
  const Array whitened_latents =
      nd::linalg_solve_triangular(lower, known, /*upper=*/false);
  return {unknown, nd::mm(whitened.t(), whitened_latents),
          (nd::mv(unseen.square(), variance) - whitened.square().sum(0)).unsqueeze(1)};
}

Array Relationship::sample_given(const Array& parameters, const Array& observed,
                                 const Array& latents, Random& random) const {
  if (is_complete()) {
    return Dependence::sample_given(parameters, observed, latents, random);
  }
  const FactorLaw factors = factors_given(parameters, observed, latents);
  const std::int64_t columns = latents.size(1);
  const Array normal =
      normal_numbers({rank(), columns}, random).to(factors.mean.device());
  const Array drawn = factors.mean + nd::linalg_solve_triangular(
                                         factors.root.t(), normal, /*upper=*/true);
  const Array own = normal_numbers({rows(), columns}, random);
  Array draw = nd::mm(factors.loading, drawn).cpu() +
               checked_one_replica(parameters).sqrt().cpu() * own;
  return draw.index_copy_(0, observed.cpu(), latents.to(nd::kCPU, nd::kDouble));
}

}  // namespace kinflow
