// Equicorrelated blocks: every quantity from the two eigenvalues of a block's
// correlation matrix and the block's sums of latents.
#include "kinflow/dependence/blocks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/steady_math.h"
#include "kinflow/core/tensor_numbers.h"
#include "kinflow/dependence/likelihood_curve.h"

namespace kinflow {
namespace {

/// Bounds of tau. Correlations whose logits differ by less than the lower one are as
/// good as equal, and a prior any tighter would hold them where they start.
constexpr double kSmallestDeviation = 0.1, kLargestDeviation = 100;
/// Newton halves t at worst: enough from the upper bound to the lower one.
constexpr int kNewtonSteps = 30;
constexpr int kScoringSteps = 2000;
constexpr double kScoringTolerance = 1e-8;

}  // namespace

Blocks::Blocks(const at::Tensor& block_of_row, BlocksOptions options)
    : options_(options) {
  if (block_of_row.dim() != 1 || block_of_row.scalar_type() != at::kLong ||
      block_of_row.size(0) == 0) {
    throw InputError(fmt::format(
        "[Blocks] expected block_of_row [n] int64 with n >= 1, received [{}] {}",
        fmt::join(block_of_row.sizes(), ", "), toString(block_of_row.scalar_type())));
  }
  if (options.correlation == BlockCorrelation::per_latent ||
      options.correlation == BlockCorrelation::per_block_and_latent) {
    throw InputError(
        "[Blocks] expected correlations that all latents share, received others");
  }
  if (options.correlation == BlockCorrelation::pooled && options.columns < 1) {
    throw InputError(fmt::format(
        "[Blocks] expected the number of columns for pooled correlations, received {}",
        options.columns));
  }
  std::tie(labels_, block_of_row_, sizes_) =
      at::_unique2(block_of_row, /*sorted=*/true, /*return_inverse=*/true,
                   /*return_counts=*/true);
  other_rows_ = (sizes_ - 1).to(at::kDouble);
  correlated_blocks_ = at::nonzero(sizes_ > 1).squeeze(1);
  const std::int64_t correlated = correlated_blocks_.size(0);
  parameter_of_block_ = at::full_like(sizes_, -1);
  if (options.correlation == BlockCorrelation::shared) {
    parameter_count_ = correlated > 0 ? 1 : 0;
    parameter_of_block_.index_fill_(0, correlated_blocks_, 0);
  } else if (options.correlation == BlockCorrelation::per_size) {
    const auto [sizes, size_of_block, counts] =
        at::_unique2(sizes_.index_select(0, correlated_blocks_), /*sorted=*/true,
                     /*return_inverse=*/true);
    parameter_count_ = sizes.size(0);
    parameter_of_block_.index_copy_(0, correlated_blocks_, size_of_block);
  } else {
    parameter_count_ = correlated;
    parameter_of_block_.index_copy_(0, correlated_blocks_,
                                    at::arange(correlated, sizes_.options()));
  }
  slot_of_block_ = parameter_of_block_.remainder(parameter_count_ + 1);
}

Blocks::Terms Blocks::terms(const at::Tensor& parameters) const {
  const at::Tensor checked = checked_parameters(parameters);
  // The last slot holds the correlation 0 of the blocks of one row.
  const at::Tensor correlation =
      at::constant_pad_nd(checked, {0, 1}).index_select(1, slot_of_block_);
  return {correlation, 1 + correlation * other_rows_, 1 - correlation};
}

Blocks::Terms Blocks::terms(const at::Tensor& parameters,
                            const at::Tensor& blocks) const {
  const at::Tensor checked = checked_parameters(parameters);
  const at::Tensor correlation =
      at::constant_pad_nd(checked, {0, 1})
          .index_select(1, slot_of_block_.index_select(0, blocks));
  return {correlation, 1 + correlation * other_rows_.index_select(0, blocks),
          1 - correlation};
}

Blocks::Sums Blocks::sums(const at::Tensor& latents) const {
  const std::int64_t replicas = latents.size(0);
  if (latents.is_cpu()) return sums_on_cpu(latents.contiguous());
  return {at::zeros({replicas, block_count(), latents.size(2)}, latents.options())
              .index_add_(1, block_of_row_, latents),
          at::zeros({replicas, block_count()}, latents.options())
              .index_add_(1, block_of_row_, latents.square().sum(2))};
}

Blocks::Sums Blocks::sums_on_cpu(const at::Tensor& latents) const {
  const std::int64_t replicas = latents.size(0), p = latents.size(2);
  Sums result{at::zeros({replicas, block_count(), p}, latents.options()),
              at::zeros({replicas, block_count()}, latents.options())};
  const auto* block = block_of_row_.data_ptr<std::int64_t>();
  const double* row = latents.data_ptr<double>();
  for (std::int64_t r = 0; r < replicas; ++r) {
    double* sum = result.latents.data_ptr<double>() + r * block_count() * p;
    double* square = result.squares.data_ptr<double>() + r * block_count();
    for (std::int64_t i = 0; i < rows(); ++i, row += p) {
      double* of_block = sum + block[i] * p;
      double total = 0;
      for (std::int64_t c = 0; c < p; ++c) {
        of_block[c] += row[c];
        total += row[c] * row[c];
      }
      square[block[i]] += total;
    }
  }
  return result;
}

at::Tensor Blocks::precision_times_on_cpu(const at::Tensor& parameters,
                                          const at::Tensor& latents) const {
  const Terms block_terms = terms(parameters);
  const at::Tensor share = (block_terms.correlation / block_terms.along).contiguous();
  const at::Tensor scale = block_terms.across.reciprocal().contiguous();
  const at::Tensor sum = sums_on_cpu(latents).latents;
  const std::int64_t p = latents.size(2);
  at::Tensor result = at::empty_like(latents);
  const auto* block = block_of_row_.data_ptr<std::int64_t>();
  const double* in = latents.data_ptr<double>();
  double* out = result.data_ptr<double>();
  for (std::int64_t r = 0; r < latents.size(0); ++r) {
    for (std::int64_t i = 0; i < rows(); ++i, in += p, out += p) {
      const std::int64_t at_block = r * block_count() + block[i];
      const double* of_block = sum.data_ptr<double>() + at_block * p;
      const double weight = share.data_ptr<double>()[at_block];
      const double factor = scale.data_ptr<double>()[at_block];
      for (std::int64_t c = 0; c < p; ++c) {
        out[c] = factor * (in[c] - weight * of_block[c]);
      }
    }
  }
  return result;
}

Blocks::Squares Blocks::squares(const Sums& sums) const {
  const at::Tensor along = sums.latents.square().sum(2) / (other_rows_ + 1);
  return {along, (sums.squares - along).clamp_min(0)};
}

at::Tensor Blocks::precision_rows(const Terms& terms, const at::Tensor& latents,
                                  const at::Tensor& sums) {
  const at::Tensor share = (terms.correlation / terms.along).unsqueeze(2);
  return (latents - share * sums) / terms.across.unsqueeze(2);
}

at::Tensor Blocks::add_to_parameters(const at::Tensor& block_gradient) const {
  const at::Tensor correlated = block_gradient.index_select(1, correlated_blocks_);
  if (options_.correlation == BlockCorrelation::per_block ||
      options_.correlation == BlockCorrelation::pooled) {
    return correlated;
  }
  return at::zeros({block_gradient.size(0), parameter_count_}, block_gradient.options())
      .index_add_(1, parameter_of_block_.index_select(0, correlated_blocks_),
                  correlated);
}

at::Tensor Blocks::parameter_gradient(const at::Tensor& parameters,
                                      const Sums& sums) const {
  const Terms block = terms(parameters);
  const double columns = static_cast<double>(sums.latents.size(2));
  const Squares square = squares(sums);
  return 0.5 *
         add_to_parameters(
             other_rows_ / block.along * (columns - square.along / block.along) -
             (columns * other_rows_ - square.across / block.across) / block.across);
}

at::Tensor Blocks::log_det(const at::Tensor& parameters) const {
  const Terms block = terms(parameters);
  const auto log = [](const at::Tensor& values) {
    if (!values.is_cpu()) return values.log();
    return steady_map(values, [](double x) { return std::log(x); });
  };
  return steady_sum(log(block.along) + other_rows_ * log(block.across));
}

at::Tensor Blocks::precision_times(const at::Tensor& parameters,
                                   const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows());
  if (all.is_cpu()) return precision_times_on_cpu(parameters, all.contiguous());
  return precision_rows(terms(parameters, block_of_row_), all,
                        sums(all).latents.index_select(1, block_of_row_));
}

at::Tensor Blocks::quadratic(const at::Tensor& parameters,
                             const at::Tensor& latents) const {
  const Squares square = squares(sums(checked_latents(parameters, latents, rows())));
  const Terms block = terms(parameters);
  return steady_sum(square.along / block.along + square.across / block.across);
}

at::Tensor Blocks::parameter_gradient(const at::Tensor& parameters,
                                      const at::Tensor& latents) const {
  return parameter_gradient(parameters,
                            sums(checked_latents(parameters, latents, rows())));
}

at::Tensor Blocks::place_within_batch(const at::Tensor& blocks) const {
  at::Tensor place_of_block = at::empty_like(sizes_);
  place_of_block.index_copy_(0, blocks, at::arange(blocks.size(0), blocks.options()));
  return place_of_block.index_select(0, blocks);
}

at::Tensor Blocks::sums_within_batch(const at::Tensor& blocks,
                                     const at::Tensor& latents) const {
  // The sums have b rows, however many blocks there are.
  const at::Tensor place = place_within_batch(blocks);
  return at::zeros_like(latents).index_add_(1, place, latents).index_select(1, place);
}

at::Tensor Blocks::pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                              const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor blocks = block_of_row_.index_select(0, rows);
  const at::Tensor others = sums_within_batch(blocks, batch) - batch;
  // In A = C^-1: A_ii = 1/across + A_ij, and A_ij = -correlation/(along across).
  return precision_rows(terms(parameters, blocks), batch,
                        batch + pair_weight(rows.size(0)) * others);
}

at::Tensor Blocks::pairs_parameter_gradient(const at::Tensor& parameters,
                                            const at::Tensor& rows,
                                            const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor blocks = block_of_row_.index_select(0, rows);
  const at::Tensor others = sums_within_batch(blocks, batch) - batch;
  const at::Tensor squares = batch.square().sum(2);
  const at::Tensor products = (batch * others).sum(2);
  const Terms row = terms(parameters, blocks);
  // Derivatives of the elements of A = C^-1 in the correlation; see pairs_rows().
  const at::Tensor off_diagonal =
      -(1 + other_rows_.index_select(0, blocks) * row.correlation.square()) /
      (row.along * row.across).square();
  const at::Tensor diagonal = row.across.pow(-2) + off_diagonal;
  const at::Tensor row_gradient =
      diagonal * squares + pair_weight(rows.size(0)) * off_diagonal * products;

  const Terms block = terms(parameters);
  const double columns = static_cast<double>(batch.size(2));
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  at::Tensor block_gradient =
      columns * other_rows_ * (1 / block.along - 1 / block.across);
  block_gradient.index_add_(1, blocks, scale * row_gradient);
  return 0.5 * add_to_parameters(block_gradient);
}

at::Tensor Blocks::expected_information(const at::Tensor& parameters) const {
  // p/2 tr((C^-1 dC)^2): the logarithms of the eigenvalues change by these slopes.
  const Terms block = terms(parameters);
  const at::Tensor along = other_rows_ * block.correlation * block.across / block.along;
  return (0.5 * static_cast<double>(options_.columns) *
          (along.square() + other_rows_ * block.correlation.square()))
      .index_select(1, correlated_blocks_);
}

PoolingLaw Blocks::pooling_law(const at::Tensor& parameters) const {
  if (options_.correlation != BlockCorrelation::pooled) {
    throw InputError("[Blocks] expected pooled correlations, received others");
  }
  const at::Tensor x = to_unconstrained(checked_parameters(parameters));
  const at::Tensor h = expected_information(parameters);
  const at::Tensor mean = x.mean(1, /*keepdim=*/true);
  const at::Tensor spread = (x - mean).square().mean(1);
  // The fixed point is the zero of mean(h t^2 / (1 + h t)) - spread, which increases
  // with t and is convex: Newton's steps from the right end there, whatever h is.
  at::Tensor t = at::full_like(spread, kLargestDeviation * kLargestDeviation);
  for (int i = 0; i < kNewtonSteps; ++i) {
    const at::Tensor ht = h * t.unsqueeze(1);
    const at::Tensor excess = t * (ht / (1 + ht)).mean(1) - spread;
    const at::Tensor slope = (1 - (1 + ht).square().reciprocal()).mean(1);
    t = (t - excess / slope.clamp_min(1e-300))
            .clamp(kSmallestDeviation * kSmallestDeviation,
                   kLargestDeviation * kLargestDeviation);
  }
  return {mean.squeeze(1), t.sqrt()};
}

at::Tensor Blocks::unconstrained_prior_gradient(const at::Tensor& parameters) const {
  if (options_.correlation != BlockCorrelation::pooled || parameter_count_ == 0) {
    return Dependence::unconstrained_prior_gradient(parameters);
  }
  const PoolingLaw law = pooling_law(parameters);
  return (to_unconstrained(parameters) - law.mu.unsqueeze(1)) /
         law.tau.square().unsqueeze(1);
}

at::Tensor Blocks::prior_objective(const at::Tensor& parameters) const {
  if (options_.correlation != BlockCorrelation::pooled || parameter_count_ == 0) {
    return Dependence::prior_objective(parameters);
  }
  const PoolingLaw law = pooling_law(parameters);
  return 0.5 *
         ((to_unconstrained(parameters) - law.mu.unsqueeze(1)) / law.tau.unsqueeze(1))
             .square()
             .sum(1);
}

at::Tensor Blocks::most_likely_pooled(const at::Tensor& latents) const {
  // Fisher scoring for all correlations, from the one that suits all best, with their
  // law brought up to date after every step. Half steps: where a block's latents are
  // unlikely, the expected information is too small and full steps swing.
  const Blocks shared(block_of_row_, {.correlation = BlockCorrelation::shared});
  const Sums statistics = sums(latents);
  at::Tensor x =
      to_unconstrained(
          shared.most_likely(latents,
                             at::zeros({latents.size(0), 1}, latents.options()), 0))
          .expand({latents.size(0), parameter_count_})
          .contiguous();
  for (int i = 0; i < kScoringSteps; ++i) {
    const at::Tensor rho = from_unconstrained(x);
    const PoolingLaw law = pooling_law(rho);
    const at::Tensor precision = law.tau.pow(-2).unsqueeze(1);
    const at::Tensor gradient =
        unconstrained_gradient(rho, parameter_gradient(rho, statistics)) +
        precision * (x - law.mu.unsqueeze(1));
    const at::Tensor step =
        (0.5 * gradient / (expected_information(rho) + precision)).clamp(-1, 1);
    x -= step;
    if (step.abs().max().item<double>() < kScoringTolerance) {
      return from_unconstrained(x);
    }
  }
  throw NumericalError(
      "[blocks] the search for the most likely pooled correlations did not converge");
}

at::Tensor Blocks::most_likely(const at::Tensor& latents, const at::Tensor& start,
                               double prior) const {
  // The law of pooled correlations is learned, so that its weight is 1 or nothing.
  if (options_.correlation == BlockCorrelation::pooled && parameter_count_ > 0 &&
      prior > 0) {
    if (latents.dim() != 3 || latents.size(2) != options_.columns) {
      throw InputError(
          fmt::format("[blocks] expected latents [R, n, {}], received [{}]",
                      options_.columns, fmt::join(latents.sizes(), ", ")));
    }
    return most_likely_pooled(
        checked_latents(checked_parameters(start), latents, rows()));
  }
  // Blocks of the same parameter and size count as one, with their sums of squares.
  struct Term {
    double other_rows;
    double blocks;
    double along;
    double across;
  };
  at::Tensor result = at::empty(checked_parameters(start).sizes(), at::kDouble);
  const at::Tensor all = checked_latents(result, latents, rows());
  const Squares square = squares(sums(all));
  const at::Tensor along = square.along.cpu(), across = square.across.cpu();
  const at::Tensor sizes = sizes_.cpu(), parameter = parameter_of_block_.cpu();
  const double columns = static_cast<double>(all.size(2));
  for (std::int64_t r = 0; r < all.size(0); ++r) {
    std::vector<std::map<std::int64_t, Term>> terms(
        static_cast<std::size_t>(parameter_count_));
    for (std::int64_t b = 0; b < block_count(); ++b) {
      const std::int64_t k = parameter.data_ptr<std::int64_t>()[b];
      if (k < 0) continue;
      const std::int64_t size = sizes.data_ptr<std::int64_t>()[b];
      Term& term = terms[static_cast<std::size_t>(k)][size];
      term.other_rows = static_cast<double>(size - 1);
      term.blocks += 1;
      term.along += along.data_ptr<double>()[r * block_count() + b];
      term.across += across.data_ptr<double>()[r * block_count() + b];
    }
    double* correlation = result.data_ptr<double>() + r * parameter_count_;
    for (const auto& of_parameter : terms) {
      const auto curve = [&](double rho) {
        CurvePoint point{0, 0};
        for (const auto& [size, term] : of_parameter) {
          const double a = 1 + term.other_rows * rho, c = 1 - rho;
          const double numbers = columns * term.blocks;
          point.value += numbers * (std::log(a) + term.other_rows * std::log(c)) +
                         term.along / a + term.across / c;
          point.slope += term.other_rows / a * (numbers - term.along / a) -
                         (numbers * term.other_rows - term.across / c) / c;
        }
        return CurvePoint{0.5 * point.value, 0.5 * point.slope};
      };
      *correlation++ = most_likely_share(curve, prior);
    }
  }
  return result.to(start.device());
}

at::Tensor Blocks::sample(const at::Tensor& parameters, std::int64_t columns,
                          Random& random) const {
  const Terms block = terms(checked_one_replica(parameters).unsqueeze(0));
  const at::Tensor block_of_row = block_of_row_.cpu();
  const auto per_row = [&](const at::Tensor& per_block) {
    return per_block.squeeze(0).cpu().index_select(0, block_of_row).unsqueeze(1);
  };
  const at::Tensor common =
      normal_numbers({block_count(), columns}, random).index_select(0, block_of_row);
  const at::Tensor own = normal_numbers({rows(), columns}, random);
  return per_row(block.correlation.sqrt()) * common +
         per_row(block.across.sqrt()) * own;
}

Blocks::Regression Blocks::regress(const at::Tensor& parameters,
                                   const at::Tensor& observed,
                                   const at::Tensor& values) const {
  // With m observed rows in a block the regression on them is rho / (1 + (m - 1) rho)
  // times their sum.
  const at::Tensor block_seen = block_of_row_.index_select(0, observed);
  const at::Tensor sum = at::zeros({block_count(), values.size(1)}, values.options())
                             .index_add_(0, block_seen, values);
  const at::Tensor seen =
      at::zeros({block_count()}, values.options())
          .index_add_(0, block_seen, at::ones({observed.size(0)}, values.options()));
  const Terms block = terms(checked_one_replica(parameters).unsqueeze(0));
  const at::Tensor rho = block.correlation.squeeze(0);
  const at::Tensor along = (1 + (seen - 1) * rho).clamp_min(1e-300);
  const at::Tensor mean = sum * (rho / along).unsqueeze(1);
  const at::Tensor variance = (1 - rho) * (1 + seen * rho) / along;
  return {mean.index_select(0, block_of_row_),
          at::where(seen > 0, variance, at::ones_like(variance))
              .index_select(0, block_of_row_)};
}

ConditionalRows Blocks::condition_rows(const at::Tensor& parameters,
                                       const at::Tensor& observed,
                                       const at::Tensor& latents) const {
  const at::Tensor unknown = checked_unknown_rows(observed, latents);
  const Regression found = regress(parameters, observed, latents.to(at::kDouble));
  return {unknown, found.mean.index_select(0, unknown),
          found.variance.index_select(0, unknown).unsqueeze(1)};
}

at::Tensor Blocks::sample_given(const at::Tensor& parameters,
                                const at::Tensor& observed, const at::Tensor& latents,
                                Random& random) const {
  // As in the base class: a draw, corrected by the regression on what it has wrong.
  const at::Tensor known = latents.to(at::kDouble);
  at::Tensor draw = sample(parameters, known.size(1), random).to(known.device());
  const at::Tensor error = known - draw.index_select(0, observed);
  draw += regress(parameters, observed, error).mean;
  return draw.index_copy_(0, observed, known).cpu();
}

at::Tensor Blocks::covariance(const at::Tensor& parameters) const {
  const Terms row = terms(checked_one_replica(parameters).unsqueeze(0), block_of_row_);
  const at::Tensor same_block =
      block_of_row_.unsqueeze(0) == block_of_row_.unsqueeze(1);
  return (same_block * row.correlation + at::diag(row.across.squeeze(0))).unsqueeze(0);
}

}  // namespace kinflow
