// Refits with every SNP: a search along the ratio for one trait, EM and Fisher scoring
// for several.
#include "kinflow/genetics/wald_test.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/statistics/chi_squared.h"

namespace kinflow {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void set_missing(SnpResults& results, std::int64_t snp, std::int64_t traits) {
  const auto snps = static_cast<std::int64_t>(results.log10_p.size());
  results.chi_square[to_size(snp)] = results.log10_p[to_size(snp)] = kNan;
  for (std::int64_t a = 0; a < traits; ++a) {
    results.effects[to_size(a * snps + snp)] = kNan;
    results.standard_errors[to_size(a * snps + snp)] = kNan;
  }
}

void check_stop(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Interrupted("interrupted between two variants");
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
      left -= std::pow(cblas_ddot(n, &basis_[to_size(j * rows_)], 1, snp, 1), 2);
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
/// give. At the ratios of the grid they are matrix products for a block of SNPs.
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
      add_columns(grid_[i]);
    }
    constexpr double kSmall = 1e-3;
    RatioPlace place;
    const auto slope_at = [&](double log_ratio) {
      model_.go_to(std::exp(log_ratio), place);
      return model_.slope(place);
    };
    curvature_ = (slope_at(guess_ + kSmall) - slope_at(guess_ - kSmall)) / (2 * kSmall);
  }

  void test(const double* snps, std::int64_t count, const CovariateSpace& covariates,
            SnpResults& results, const std::atomic<bool>* stop) const {
    Scratch scratch;
    for (std::int64_t first = 0; first < count; first += kBlock) {
      check_stop(stop);
      const auto size = std::min(kBlock, count - first);
      const double* block = snps + first * data_.rows;
      multiply(block, size, scratch);
      for (std::int64_t s = 0; s < size; ++s) {
        const double* snp = block + s * data_.rows;
        if (covariates.determines(snp)) {
          set_missing(results, first + s, 1);
        } else {
          test_one(snp, s, first + s, scratch, results);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kBlock = 64;

  /// Products of a SNP at one ratio: x'P x, x'P y, x'P D P x, x'P D P y.
  struct Products {
    double xx = 0, xy = 0, xdx = 0, xdy = 0;
  };

  struct Scratch {
    RatioPlace place;
    std::vector<double> projected, scaled, shares, slopes;
    std::vector<double> squares, of_linear, of_weights;  ///< of a block
  };

  std::int64_t columns_of_place() const { return 2 + 2 * data_.covariate_count(); }

  /// P y, P D P y, Z and D W Z, and for squares of SNPs W and D W W.
  void add_columns(const RatioPlace& place) {
    const auto rows = to_size(data_.rows);
    const auto c = data_.covariate_count();
    const auto n = static_cast<int>(data_.rows);
    const auto& eigenvalues = data_.eigenvalues;
    linear_.insert(linear_.end(), place.residuals.begin(), place.residuals.end());
    std::vector<double> twice(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      twice[i] = place.weights[i] * place.scaled_residuals[i];
    }
    std::vector<double> scaled_basis = place.basis;
    for (std::int64_t j = 0; j < c; ++j) {
      const double* column = &place.basis[to_size(j) * rows];
      cblas_daxpy(n, -cblas_ddot(n, column, 1, place.scaled_residuals.data(), 1),
                  column, 1, twice.data(), 1);
      for (std::size_t i = 0; i < rows; ++i) {
        scaled_basis[to_size(j) * rows + i] *= eigenvalues[i];
      }
    }
    linear_.insert(linear_.end(), twice.begin(), twice.end());
    linear_.insert(linear_.end(), place.basis.begin(), place.basis.end());
    for (std::int64_t j = 0; j < c; ++j) {
      for (std::int64_t k = 0; k < c; ++k) {
        middle_.push_back(cblas_ddot(n, &place.basis[to_size(k) * rows], 1,
                                     &scaled_basis[to_size(j) * rows], 1));
      }
    }
    for (std::size_t i = 0; i < scaled_basis.size(); ++i) {
      scaled_basis[i] *= place.weights[i % rows];
    }
    linear_.insert(linear_.end(), scaled_basis.begin(), scaled_basis.end());
    weights_.insert(weights_.end(), place.weights.begin(), place.weights.end());
    for (std::size_t i = 0; i < rows; ++i) {
      weights_.push_back(eigenvalues[i] * place.weights[i] * place.weights[i]);
    }
  }

  void multiply(const double* snps, std::int64_t count, Scratch& scratch) const {
    const auto n = static_cast<int>(data_.rows), m = static_cast<int>(count);
    const auto linear = static_cast<int>(linear_.size() / to_size(data_.rows));
    const auto weights = static_cast<int>(weights_.size() / to_size(data_.rows));
    scratch.squares.resize(to_size(data_.rows * count));
    for (std::size_t i = 0; i < scratch.squares.size(); ++i) {
      scratch.squares[i] = snps[i] * snps[i];
    }
    scratch.of_linear.resize(to_size(linear * count));
    scratch.of_weights.resize(to_size(weights * count));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, linear, m, n, 1,
                linear_.data(), n, snps, n, 0, scratch.of_linear.data(), linear);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, weights, m, n, 1,
                weights_.data(), n, scratch.squares.data(), n, 0,
                scratch.of_weights.data(), weights);
  }

  /// At a ratio of the grid, from the products of the block.
  Products products_at(std::size_t point, std::int64_t snp,
                       const Scratch& scratch) const {
    const auto c = data_.covariate_count();
    const auto points = static_cast<std::int64_t>(grid_.size());
    const auto place = static_cast<std::int64_t>(point);
    const double* linear =
        &scratch.of_linear[to_size((snp * points + place) * columns_of_place())];
    const double* weighted = &scratch.of_weights[to_size((snp * points + place) * 2)];
    const double *shares = linear + 2, *scaled = linear + 2 + c;
    const double* middle = middle_.data() + place * c * c;
    Products result{weighted[0], linear[0], weighted[1], linear[1]};
    for (std::int64_t j = 0; j < c; ++j) {
      result.xx -= shares[j] * shares[j];
      double inner = -2 * scaled[j];
      for (std::int64_t k = 0; k < c; ++k) inner += middle[j * c + k] * shares[k];
      result.xdx += shares[j] * inner;
    }
    return result;
  }

  Products products(const RatioPlace& place, const double* snp,
                    Scratch& scratch) const {
    const auto rows = data_.rows;
    const auto n = static_cast<int>(rows);
    const auto c = static_cast<int>(data_.covariate_count());
    scratch.projected.resize(to_size(rows));
    scratch.scaled.resize(to_size(rows));
    scratch.shares.resize(to_size(c));
    double* projected = scratch.projected.data();
    double* scaled = scratch.scaled.data();
    const double* weights = place.weights.data();
    const double* eigenvalues = data_.eigenvalues.data();
    for (std::int64_t i = 0; i < rows; ++i) projected[i] = weights[i] * snp[i];
    if (c > 0) {
      cblas_dgemv(CblasColMajor, CblasTrans, n, c, 1, place.basis.data(), n, snp, 1, 0,
                  scratch.shares.data(), 1);
      cblas_dgemv(CblasColMajor, CblasNoTrans, n, c, -1, place.basis.data(), n,
                  scratch.shares.data(), 1, 1, projected, 1);
    }
    for (std::int64_t i = 0; i < rows; ++i) scaled[i] = eigenvalues[i] * projected[i];
    return {cblas_ddot(n, snp, 1, projected, 1),
            cblas_ddot(n, snp, 1, place.residuals.data(), 1),
            cblas_ddot(n, scaled, 1, projected, 1),
            cblas_ddot(n, scaled, 1, place.residuals.data(), 1)};
  }

  void test_one(const double* snp, std::int64_t in_block, std::int64_t at,
                Scratch& scratch, SnpResults& results) const {
    scratch.slopes.clear();
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      scratch.slopes.push_back(slope(grid_[i], products_at(i, in_block, scratch)));
    }
    const auto go_to = [&](double log_ratio) {
      model_.go_to(std::exp(log_ratio), scratch.place);
      return products(scratch.place, snp, scratch);
    };
    const double best = best_log_ratio(
        scratch.slopes,
        [&](double log_ratio) {
          const auto at_ratio = go_to(log_ratio);
          return slope(scratch.place, at_ratio);
        },
        [&](double log_ratio) {
          const auto at_ratio = go_to(log_ratio);
          return log_likelihood(scratch.place, at_ratio);
        },
        guess_, curvature_);
    const auto at_best = go_to(best);
    const double explained = at_best.xy * at_best.xy / at_best.xx;
    const double residual = (scratch.place.quadratic - explained) / degrees_;
    const double f = explained / residual;
    results.effects[to_size(at)] = at_best.xy / at_best.xx;
    results.standard_errors[to_size(at)] = std::sqrt(residual / at_best.xx);
    results.chi_square[to_size(at)] = f;
    results.log10_p[to_size(at)] = log10_p_of_f(f, degrees_);
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
    return -0.5 * (degrees_ * std::log(quadratic) +
                   log_of_inverses(place.weights.data(), data_.rows) +
                   place.log_det_information + std::log(snp.xx));
  }

  const MixedModelData& data_;
  UnivariateModel model_;
  double guess_, curvature_ = 0;  ///< of the null model
  double degrees_;
  std::vector<RatioPlace> grid_;
  std::vector<double> linear_, weights_;  ///< columns of all ratios of the grid
  std::vector<double> middle_;            ///< Z'D Z of all ratios
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

void WaldTest::test(const double* snps, std::int64_t count, SnpResults& results,
                    const std::atomic<bool>* stop) const {
  results.resize(count, data_.trait_count());
  if (!one_trait_) {
    test_several(snps, count, results, stop);
    return;
  }
  one_trait_->test(snps, count, CovariateSpace(data_), results, stop);
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

void WaldTest::test_several(const double* snps, std::int64_t count, SnpResults& results,
                            const std::atomic<bool>* stop) const {
  constexpr MixedModelOptions kRefinement{.iterations = 100, .least_gain = 1e-9};
  const auto d = data_.trait_count();
  const auto degrees = static_cast<int>(d);
  const CovariateSpace covariates(data_);
  VarianceLikelihood likelihood(data_, LikelihoodKind::restricted);
  for (std::int64_t s = 0; s < count; ++s) {
    check_stop(stop);
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
    if (chi_squared_tail(chi_square, degrees) < options_.refine_below) {
      maximize(likelihood, variances, kRefinement);
      effect = likelihood.snp_effect();
      chi_square = chi_square_of(effect);
    }
    results.chi_square[to_size(s)] = chi_square;
    results.log10_p[to_size(s)] = log10_p_of_chi_square(chi_square, degrees);
    const auto& back = likelihood.canonical().back;
    for (std::int64_t a = 0; a < d; ++a) {
      double value = 0, variance = 0;
      for (std::int64_t j = 0; j < d; ++j) {
        const double share = back[to_size(j * d + a)];
        value += share * effect.effects[to_size(j)];
        variance += share * share / effect.precisions[to_size(j)];
      }
      results.effects[to_size(a * count + s)] = value;
      results.standard_errors[to_size(a * count + s)] = std::sqrt(variance);
    }
  }
}

}  // namespace kinflow
