// Equicorrelated blocks: every quantity from the two eigenvalues of a block's
// correlation matrix and the block's sums of latents.
#include "kinflow/dependence/blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/array/steady_math.h"
#include "kinflow/core/error.h"
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

Blocks::Blocks(const Array& block_of_row, BlocksOptions options) : options_(options) {
  if (block_of_row.dim() != 1 || block_of_row.scalar_type() != nd::kLong ||
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
      nd::_unique2(block_of_row, /*sorted=*/true, /*return_inverse=*/true,
                   /*return_counts=*/true);
  other_rows_ = (sizes_ - 1).to(nd::kDouble);
  correlated_blocks_ = nd::nonzero(sizes_ > 1).squeeze(1);
  const std::int64_t correlated = correlated_blocks_.size(0);
  parameter_of_block_ = nd::full_like(sizes_, -1);
  if (options.correlation == BlockCorrelation::shared) {
    parameter_count_ = correlated > 0 ? 1 : 0;
    parameter_of_block_.index_fill_(0, correlated_blocks_, 0);
  } else if (options.correlation == BlockCorrelation::per_size) {
    const auto [sizes, size_of_block, counts] =
        nd::_unique2(sizes_.index_select(0, correlated_blocks_), /*sorted=*/true,
                     /*return_inverse=*/true);
    parameter_count_ = sizes.size(0);
    parameter_of_block_.index_copy_(0, correlated_blocks_, size_of_block);
  } else {
    parameter_count_ = correlated;
    parameter_of_block_.index_copy_(0, correlated_blocks_,
                                    nd::arange(correlated, sizes_.options()));
  }
  slot_of_block_ = parameter_of_block_.remainder(parameter_count_ + 1);
}

Blocks::Terms Blocks::terms(const Array& parameters) const {
  const Array checked = checked_parameters(parameters);
  // The last slot holds the correlation 0 of the blocks of one row.
  const Array correlation =
      nd::constant_pad_nd(checked, {0, 1}).index_select(1, slot_of_block_);
  return {correlation, 1 + correlation * other_rows_, 1 - correlation};
}

Blocks::Terms Blocks::terms(const Array& parameters, const Array& blocks) const {
  const Array checked = checked_parameters(parameters);
  const Array correlation =
      nd::constant_pad_nd(checked, {0, 1})
          .index_select(1, slot_of_block_.index_select(0, blocks));
  return {correlation, 1 + correlation * other_rows_.index_select(0, blocks),
          1 - correlation};
}

Blocks::Sums Blocks::sums(const Array& latents) const {
  const std::int64_t replicas = latents.size(0);
  if (latents.is_cpu()) return sums_on_cpu(latents.contiguous());
  return {nd::zeros({replicas, block_count(), latents.size(2)}, latents.options())
              .index_add_(1, block_of_row_, latents),
          nd::zeros({replicas, block_count()}, latents.options())
              .index_add_(1, block_of_row_, latents.square().sum(2))};
}

Blocks::Sums Blocks::sums_on_cpu(const Array& latents) const {
  const std::int64_t replicas = latents.size(0), p = latents.size(2);
  Sums result{nd::zeros({replicas, block_count(), p}, latents.options()),
              nd::zeros({replicas, block_count()}, latents.options())};
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

Array Blocks::precision_times_on_cpu(const Array& parameters,
                                     const Array& latents) const {
  const Terms block_terms = terms(parameters);
  const Array share = (block_terms.correlation / block_terms.along).contiguous();
  const Array scale = block_terms.across.reciprocal().contiguous();
  const Array sum = sums_on_cpu(latents).latents;
  const std::int64_t p = latents.size(2);
  Array result = nd::empty_like(latents);
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
  const Array along = sums.latents.square().sum(2) / (other_rows_ + 1);
  return {along, (sums.squares - along).clamp_min(0)};
}

Array Blocks::precision_rows(const Terms& terms, const Array& latents,
                             const Array& sums) {
  const Array share = (terms.correlation / terms.along).unsqueeze(2);
  return (latents - share * sums) / terms.across.unsqueeze(2);
}

Array Blocks::add_to_parameters(const Array& block_gradient) const {
  const Array correlated = block_gradient.index_select(1, correlated_blocks_);
  if (options_.correlation == BlockCorrelation::per_block ||
      options_.correlation == BlockCorrelation::pooled) {
    return correlated;
  }
  return nd::zeros({block_gradient.size(0), parameter_count_}, block_gradient.options())
      .index_add_(1, parameter_of_block_.index_select(0, correlated_blocks_),
                  correlated);
}

Array Blocks::parameter_gradient(const Array& parameters, const Sums& sums) const {
  const Terms block = terms(parameters);
  const double columns = static_cast<double>(sums.latents.size(2));
  const Squares square = squares(sums);
  return 0.5 *
         add_to_parameters(
             other_rows_ / block.along * (columns - square.along / block.along) -
             (columns * other_rows_ - square.across / block.across) / block.across);
}

Array Blocks::log_det(const Array& parameters) const {
  const Terms block = terms(parameters);
  const auto log = [](const Array& values) {
    if (!values.is_cpu()) return values.log();
    return steady_map(values, [](double x) { return std::log(x); });
  };
  return steady_sum(log(block.along) + other_rows_ * log(block.across));
}

Array Blocks::precision_times(const Array& parameters, const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows());
  if (all.is_cpu()) return precision_times_on_cpu(parameters, all.contiguous());
  return precision_rows(terms(parameters, block_of_row_), all,
                        sums(all).latents.index_select(1, block_of_row_));
}

Array Blocks::quadratic(const Array& parameters, const Array& latents) const {
  const Squares square = squares(sums(checked_latents(parameters, latents, rows())));
  const Terms block = terms(parameters);
  return steady_sum(square.along / block.along + square.across / block.across);
}

Array Blocks::parameter_gradient(const Array& parameters, const Array& latents) const {
  return parameter_gradient(parameters,
                            sums(checked_latents(parameters, latents, rows())));
}

Array Blocks::place_within_batch(const Array& blocks) const {
  Array place_of_block = nd::empty_like(sizes_);
  place_of_block.index_copy_(0, blocks, nd::arange(blocks.size(0), blocks.options()));
  return place_of_block.index_select(0, blocks);
}

Array Blocks::sums_within_batch(const Array& blocks, const Array& latents) const {
  // The sums have b rows, however many blocks there are.
  const Array place = place_within_batch(blocks);
  return nd::zeros_like(latents).index_add_(1, place, latents).index_select(1, place);
}

Array Blocks::pairs_rows(const Array& parameters, const Array& rows,
                         const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  const Array blocks = block_of_row_.index_select(0, rows);
  const Array others = sums_within_batch(blocks, batch) - batch;
  // In A = C^-1: A_ii = 1/across + A_ij, and A_ij = -correlation/(along across).
  return precision_rows(terms(parameters, blocks), batch,
                        batch + pair_weight(rows.size(0)) * others);
}

Array Blocks::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                       const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  const Array blocks = block_of_row_.index_select(0, rows);
  const Array others = sums_within_batch(blocks, batch) - batch;
  const Array squares = batch.square().sum(2);
  const Array products = (batch * others).sum(2);
  const Terms row = terms(parameters, blocks);
  // Derivatives of the elements of A = C^-1 in the correlation; see pairs_rows().
  const Array off_diagonal =
      -(1 + other_rows_.index_select(0, blocks) * row.correlation.square()) /
      (row.along * row.across).square();
  const Array diagonal = row.across.pow(-2) + off_diagonal;
  const Array row_gradient =
      diagonal * squares + pair_weight(rows.size(0)) * off_diagonal * products;

  const Terms block = terms(parameters);
  const double columns = static_cast<double>(batch.size(2));
  const double scale =
      static_cast<double>(this->rows()) / static_cast<double>(rows.size(0));
  Array block_gradient = columns * other_rows_ * (1 / block.along - 1 / block.across);
  block_gradient.index_add_(1, blocks, scale * row_gradient);
  return 0.5 * add_to_parameters(block_gradient);
}

Array Blocks::expected_information(const Array& parameters) const {
  // p/2 tr((C^-1 dC)^2): the logarithms of the eigenvalues change by these slopes.
  const Terms block = terms(parameters);
  const Array along = other_rows_ * block.correlation * block.across / block.along;
  return (0.5 * static_cast<double>(options_.columns) *
          (along.square() + other_rows_ * block.correlation.square()))
      .index_select(1, correlated_blocks_);
}

PoolingLaw Blocks::pooling_law(const Array& parameters) const {
  if (options_.correlation != BlockCorrelation::pooled) {
    throw InputError("[Blocks] expected pooled correlations, received others");
  }
  const Array x = to_unconstrained(checked_parameters(parameters));
  const Array h = expected_information(parameters);
  const Array mean = x.mean(1, /*keepdim=*/true);
  const Array spread = (x - mean).square().mean(1);
  // The fixed point is the zero of mean(h t^2 / (1 + h t)) - spread, which increases
  // with t and is convex: Newton's steps from the right end there, whatever h is.
  Array t = nd::full_like(spread, kLargestDeviation * kLargestDeviation);
  for (int i = 0; i < kNewtonSteps; ++i) {
    const Array ht = h * t.unsqueeze(1);
    const Array excess = t * (ht / (1 + ht)).mean(1) - spread;
    const Array slope = (1 - (1 + ht).square().reciprocal()).mean(1);
    t = (t - excess / slope.clamp_min(1e-300))
            .clamp(kSmallestDeviation * kSmallestDeviation,
                   kLargestDeviation * kLargestDeviation);
  }
  return {mean.squeeze(1), t.sqrt()};
}

Array Blocks::unconstrained_prior_gradient(const Array& parameters) const {
  if (options_.correlation != BlockCorrelation::pooled || parameter_count_ == 0) {
    return Dependence::unconstrained_prior_gradient(parameters);
  }
  const PoolingLaw law = pooling_law(parameters);
  return (to_unconstrained(parameters) - law.mu.unsqueeze(1)) /
         law.tau.square().unsqueeze(1);
}

Array Blocks::prior_objective(const Array& parameters) const {
  if (options_.correlation != BlockCorrelation::pooled || parameter_count_ == 0) {
    return Dependence::prior_objective(parameters);
  }
  const PoolingLaw law = pooling_law(parameters);
  return 0.5 *
         ((to_unconstrained(parameters) - law.mu.unsqueeze(1)) / law.tau.unsqueeze(1))
             .square()
             .sum(1);
}

Array Blocks::most_likely_pooled(const Array& latents) const {
  // Fisher scoring for all correlations, from the one that suits all best, with their
  // law brought up to date after every step. Half steps: where a block's latents are
  // unlikely, the expected information is too small and full steps swing.
  const Blocks shared(block_of_row_, {.correlation = BlockCorrelation::shared});
  const Sums statistics = sums(latents);
  Array x = to_unconstrained(
                shared.most_likely(
                    latents, nd::zeros({latents.size(0), 1}, latents.options()), 0))
                .expand({latents.size(0), parameter_count_})
                .contiguous();
  for (int i = 0; i < kScoringSteps; ++i) {
    const Array rho = from_unconstrained(x);
    const PoolingLaw law = pooling_law(rho);
    const Array precision = law.tau.pow(-2).unsqueeze(1);
    const Array gradient =
        unconstrained_gradient(rho, parameter_gradient(rho, statistics)) +
        precision * (x - law.mu.unsqueeze(1));
    const Array step =
        (0.5 * gradient / (expected_information(rho) + precision)).clamp(-1, 1);
    x -= step;
    if (step.abs().max().item<double>() < kScoringTolerance) {
      return from_unconstrained(x);
    }
  }
  throw NumericalError(
      "[blocks] the search for the most likely pooled correlations did not converge");
}

Array Blocks::most_likely(const Array& latents, const Array& start,
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
  Array result = nd::empty(checked_parameters(start).sizes(), nd::kDouble);
  const Array all = checked_latents(result, latents, rows());
  const Squares square = squares(sums(all));
  const Array along = square.along.cpu(), across = square.across.cpu();
  const Array sizes = sizes_.cpu(), parameter = parameter_of_block_.cpu();
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

Array Blocks::sample(const Array& parameters, std::int64_t columns,
                     Random& random) const {
  const Terms block = terms(checked_one_replica(parameters).unsqueeze(0));
  const Array block_of_row = block_of_row_.cpu();
  const auto per_row = [&](const Array& per_block) {
    return per_block.squeeze(0).cpu().index_select(0, block_of_row).unsqueeze(1);
  };
  const Array common =
      normal_numbers({block_count(), columns}, random).index_select(0, block_of_row);
  const Array own = normal_numbers({rows(), columns}, random);
  return per_row(block.correlation.sqrt()) * common +
         per_row(block.across.sqrt()) * own;
}

Blocks::Regression Blocks::regress(const Array& parameters, const Array& observed,
                                   const Array& values) const {
  // With m observed rows in a block the regression on them is rho / (1 + (m - 1) rho)
  // times their sum.
  const Array block_seen = block_of_row_.index_select(0, observed);
  const Array sum = nd::zeros({block_count(), values.size(1)}, values.options())
                        .index_add_(0, block_seen, values);
  const Array seen =
      nd::zeros({block_count()}, values.options())
          .index_add_(0, block_seen, nd::ones({observed.size(0)}, values.options()));
  const Terms block = terms(checked_one_replica(parameters).unsqueeze(0));
  const Array rho = block.correlation.squeeze(0);
  const Array along = (1 + (seen - 1) * rho).clamp_min(1e-300);
  const Array mean = sum * (rho / along).unsqueeze(1);
  const Array variance = (1 - rho) * (1 + seen * rho) / along;
  return {mean.index_select(0, block_of_row_),
          nd::where(seen > 0, variance, nd::ones_like(variance))
              .index_select(0, block_of_row_)};
}

ConditionalRows Blocks::condition_rows(const Array& parameters, const Array& observed,
                                       const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents);
  const Regression found = regress(parameters, observed, latents.to(nd::kDouble));
  return {unknown, found.mean.index_select(0, unknown),
          found.variance.index_select(0, unknown).unsqueeze(1)};
}

Array Blocks::sample_given(const Array& parameters, const Array& observed,
                           const Array& latents, Random& random) const {
  // As in the base class: a draw, corrected by the regression on what it has wrong.
  const Array known = latents.to(nd::kDouble);
  Array draw = sample(parameters, known.size(1), random).to(known.device());
  const Array error = known - draw.index_select(0, observed);
  draw += regress(parameters, observed, error).mean;
  return draw.index_copy_(0, observed, known).cpu();
}

Array Blocks::covariance(const Array& parameters) const {
  const Terms row = terms(checked_one_replica(parameters).unsqueeze(0), block_of_row_);
  const Array same_block = block_of_row_.unsqueeze(0) == block_of_row_.unsqueeze(1);
  return (same_block * row.correlation + nd::diag(row.across.squeeze(0))).unsqueeze(0);
}

}  // namespace kinflow
