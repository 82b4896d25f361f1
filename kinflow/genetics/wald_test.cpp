// Refits with every SNP: a search along the ratio for one trait, EM and Fisher scoring
// for several.
#include "kinflow/genetics/wald_test.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kinflow/core/chi_square.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t wide(std::int64_t value) { return static_cast<std::size_t>(value); }

void set_missing(SnpResults& results, std::int64_t snp, std::int64_t traits) {
  const auto snps = static_cast<std::int64_t>(results.p_value.size());
  results.chi_square[wide(snp)] = results.p_value[wide(snp)] = kNan;
  for (std::int64_t a = 0; a < traits; ++a) {
    results.effects[wide(a * snps + snp)] = kNan;
    results.standard_errors[wide(a * snps + snp)] = kNan;
  }
}

/// True where covariates leave nothing of the SNP, in unweighted squares.
class CovariateSpace {
 public:
  explicit CovariateSpace(const MixedModelData& data) : rows_(data.rows) {
    MixedModelData one = trait_of(data, 0);
    RatioPlace place;
    UnivariateModel(one, LikelihoodKind::restricted).go_to(0, place);
    basis_ = std::move(place.basis);
    columns_ = data.covariate_count();
  }

  bool determines(const double* snp) const {
    const auto n = static_cast<int>(rows_);
    const double all = cblas_ddot(n, snp, 1, snp, 1);
    double left = all;
    for (std::int64_t j = 0; j < columns_; ++j) {
      left -= std::pow(cblas_ddot(n, &basis_[wide(j * rows_)], 1, snp, 1), 2);
    }
    return !(left > kLeastLeftOfSnp * all);
  }

 private:
  std::int64_t rows_, columns_ = 0;
  std::vector<double> basis_;
};

}  // namespace

/// The univariate test. With a SNP x in the model, P becomes P - P x x'P / x'P x, so
/// all that the likelihood needs are four products of x with what the covariates alone
/// give.
class WaldTest::OneTrait {
 public:
  OneTrait(const MixedModelData& data, double null_ratio)
      : data_(data),
        model_(data, LikelihoodKind::restricted),
        guess_(std::log(null_ratio)),
        degrees_(static_cast<double>(data.rows - data.covariate_count() - 1)) {
    grid_.resize(ratio_grid().size());
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      model_.go_to(std::exp(ratio_grid()[i]), grid_[i]);
    }
  }

  /// Products of a SNP at one ratio: x'P x, x'P y, x'P D P x, x'P D P y.
  struct Products {
    double xx = 0, xy = 0, xdx = 0, xdy = 0;
  };

  struct Scratch {
    RatioPlace place;
    std::vector<double> projected, shares;
  };

  struct Result {
    double effect, standard_error, f;
  };

  Result test(const double* snp, Scratch& scratch) const {
    const auto slope_at = [&](const RatioPlace& place) {
      return slope(place, products(place, snp, scratch));
    };
    std::vector<double> slopes;
    for (const auto& place : grid_) slopes.push_back(slope_at(place));
    const auto go_to = [&](double log_ratio) {
      model_.go_to(std::exp(log_ratio), scratch.place);
    };
    const double best = best_log_ratio(
        slopes,
        [&](double log_ratio) {
          go_to(log_ratio);
          return slope_at(scratch.place);
        },
        [&](double log_ratio) {
          go_to(log_ratio);
          return log_likelihood(scratch.place, products(scratch.place, snp, scratch));
        },
        guess_);
    go_to(best);
    const auto at_best = products(scratch.place, snp, scratch);
    const double explained = at_best.xy * at_best.xy / at_best.xx;
    const double residual = (scratch.place.quadratic - explained) / degrees_;
    return {at_best.xy / at_best.xx, std::sqrt(residual / at_best.xx),
            explained / residual};
  }

  double degrees() const { return degrees_; }

 private:
  Products products(const RatioPlace& place, const double* snp,
                    Scratch& scratch) const {
    const auto rows = data_.rows;
    const auto n = static_cast<int>(rows);
    const auto c = static_cast<int>(data_.covariate_count());
    scratch.projected.resize(wide(rows));
    scratch.shares.resize(wide(c));
    double* projected = scratch.projected.data();
    const double* weights = place.weights.data();
    for (std::int64_t i = 0; i < rows; ++i) projected[i] = weights[i] * snp[i];
    if (c > 0) {
      cblas_dgemv(CblasColMajor, CblasTrans, n, c, 1, place.basis.data(), n, snp, 1, 0,
                  scratch.shares.data(), 1);
      cblas_dgemv(CblasColMajor, CblasNoTrans, n, c, -1, place.basis.data(), n,
                  scratch.shares.data(), 1, 1, projected, 1);
    }
    Products result;
    result.xx = cblas_ddot(n, snp, 1, projected, 1);
    result.xy = cblas_ddot(n, snp, 1, place.residuals.data(), 1);
    const double* eigenvalues = data_.eigenvalues.data();
    const double* residuals = place.residuals.data();
    double xdx = 0, xdy = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const double scaled = eigenvalues[i] * projected[i];
      xdx += scaled * projected[i];
      xdy += scaled * residuals[i];
    }
    result.xdx = xdx;
    result.xdy = xdy;
    return result;
  }

  double slope(const RatioPlace& place, const Products& snp) const {
    const double effect = snp.xy / snp.xx;
    const double quadratic = place.quadratic - effect * snp.xy;
    const double quadratic_slope =
        place.quadratic_slope - effect * (2 * snp.xdy - effect * snp.xdx);
    return 0.5 * place.ratio *
           (degrees_ * quadratic_slope / quadratic - place.trace + snp.xdx / snp.xx);
  }

  double log_likelihood(const RatioPlace& place, const Products& snp) const {
    const double quadratic = place.quadratic - snp.xy * snp.xy / snp.xx;
    return -0.5 * (degrees_ * std::log(quadratic) + place.log_det_rows +
                   place.log_det_information + std::log(snp.xx));
  }

  const MixedModelData& data_;
  UnivariateModel model_;
  double guess_;
  double degrees_;
  std::vector<RatioPlace> grid_;
};

WaldTest::WaldTest(const MixedModelData& data, const MixedModelFit& null,
                   const WaldOptions& options)
    : data_(data), start_(null.variances), options_(options) {
  if (null.kind != LikelihoodKind::full) {
    throw InputError("[WaldTest] expected the ML fit of the null model, received REML");
  }
  if (data.trait_count() == 1) {
    one_trait_ = std::make_unique<OneTrait>(data, null.canonical.ratios[0]);
  }
}

WaldTest::~WaldTest() = default;

void WaldTest::test(const double* snps, std::int64_t count, SnpResults& results) const {
  results.resize(count, data_.trait_count());
  if (!one_trait_) {
    test_several(snps, count, results);
    return;
  }
  const CovariateSpace covariates(data_);
  OneTrait::Scratch scratch;
  for (std::int64_t s = 0; s < count; ++s) {
    const double* snp = snps + s * data_.rows;
    if (covariates.determines(snp)) {
      set_missing(results, s, 1);
      continue;
    }
    const auto [effect, standard_error, f] = one_trait_->test(snp, scratch);
    results.effects[wide(s)] = effect;
    results.standard_errors[wide(s)] = standard_error;
    results.chi_square[wide(s)] = f;
    results.p_value[wide(s)] = f_tail(f, one_trait_->degrees());
  }
}

namespace {

/// EM steps for REML until one gains less than asked for.
void take_em_steps(VarianceLikelihood& likelihood, TraitVariances& variances,
                   const WaldOptions& options) {
  double value = likelihood.go_to(variances);
  if (std::isinf(options.em_gain)) return;
  for (int step = 0; step < options.em_steps; ++step) {
    variances =
        em_step(likelihood.canonical(), likelihood.gradient(), likelihood.rows());
    const double next = likelihood.go_to(variances);
    const double gain = std::abs(next - value);
    value = next;
    if (gain < options.em_gain || !std::isfinite(gain)) return;
  }
}

double chi_square_of(const VarianceLikelihood::SnpEffect& effect) {
  double sum = 0;
  for (std::size_t j = 0; j < effect.effects.size(); ++j) {
    sum += effect.precisions[j] * effect.effects[j] * effect.effects[j];
  }
  return sum;
}

}  // namespace

void WaldTest::test_several(const double* snps, std::int64_t count,
                            SnpResults& results) const {
  constexpr MixedModelOptions kRefinement{.iterations = 100, .least_gain = 1e-9};
  const auto d = data_.trait_count();
  const auto degrees = static_cast<int>(d);
  const CovariateSpace covariates(data_);
  VarianceLikelihood likelihood(data_, LikelihoodKind::restricted);
  for (std::int64_t s = 0; s < count; ++s) {
    const double* snp = snps + s * data_.rows;
    if (covariates.determines(snp)) {
      set_missing(results, s, d);
      continue;
    }
    likelihood.set_snp(snp);
    TraitVariances variances = start_;
    take_em_steps(likelihood, variances, options_);
    auto effect = likelihood.snp_effect();
    double chi_square = chi_square_of(effect);
    if (chi_square_tail(chi_square, degrees) < options_.refine_below) {
      maximize(likelihood, variances, kRefinement);
      effect = likelihood.snp_effect();
      chi_square = chi_square_of(effect);
    }
    results.chi_square[wide(s)] = chi_square;
    results.p_value[wide(s)] = chi_square_tail(chi_square, degrees);
    const auto& back = likelihood.canonical().back;
    for (std::int64_t a = 0; a < d; ++a) {
      double value = 0, variance = 0;
      for (std::int64_t j = 0; j < d; ++j) {
        const double share = back[wide(j * d + a)];
        value += share * effect.effects[wide(j)];
        variance += share * share / effect.precisions[wide(j)];
      }
      results.effects[wide(a * count + s)] = value;
      results.standard_errors[wide(a * count + s)] = std::sqrt(variance);
    }
  }
}

}  // namespace kinflow
