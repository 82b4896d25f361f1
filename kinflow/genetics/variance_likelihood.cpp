// The likelihood in canonical traits: weighted regressions, one for each of them.
#include "kinflow/genetics/variance_likelihood.h"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kinflow/core/error.h"
#include "kinflow/core/size.h"

namespace kinflow {
namespace {

using Matrix = std::vector<double>;

int narrow(std::int64_t value) { return static_cast<int>(value); }
/// A B, A' B, A B' of square matrices of order d.
Matrix product(const Matrix& a, bool transpose_a, const Matrix& b, bool transpose_b,
               std::int64_t order) {
  const int d = narrow(order);
  Matrix result(a.size());
  cblas_dgemm(CblasColMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, d, d, d, 1, a.data(), d,
              b.data(), d, 0, result.data(), d);
  return result;
}

/// A M A'.
Matrix congruent(const Matrix& a, const Matrix& middle, std::int64_t order) {
  return product(product(a, false, middle, false, order), false, a, true, order);
}

/// Eigenvalues, ascending; the matrix becomes its eigenvectors.
std::vector<double> eigenvectors(Matrix& matrix, std::int64_t order) {
  std::vector<double> values(to_size(order));
  if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'L', narrow(order), matrix.data(),
                    narrow(order), values.data()) != 0) {
    throw NumericalError(
        fmt::format("[mixed model] no eigenvalues of a matrix of {} traits", order));
  }
  return values;
}

/// Q diag(values) Q', of any Q.
Matrix from_eigenvectors(const Matrix& vectors, const std::vector<double>& values,
                         std::int64_t order) {
  Matrix scaled = vectors;
  for (std::int64_t j = 0; j < order; ++j) {
    cblas_dscal(narrow(order), values[to_size(j)], &scaled[to_size(j * order)], 1);
  }
  return product(scaled, false, vectors, true, order);
}

/// The nearest symmetric matrix whose eigenvalues are not below a bound.
Matrix with_eigenvalues_from(const Matrix& matrix, double lowest, std::int64_t order) {
  Matrix vectors = matrix;
  auto values = eigenvectors(vectors, order);
  if (values.front() >= lowest) return matrix;
  for (auto& value : values) value = std::max(value, lowest);
  return from_eigenvectors(vectors, values, order);
}

Matrix diagonal(const std::vector<double>& values) {
  Matrix result(values.size() * values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[i * values.size() + i] = values[i];
  }
  return result;
}

double trace_of_product(const Matrix& a, const Matrix& b) {
  return cblas_ddot(static_cast<int>(a.size()), a.data(), 1, b.data(), 1);
}

}  // namespace

double log_of_inverses(const double* weights, std::int64_t count) {
  constexpr std::int64_t kLanes = 8, kFactors = 16;
  double sum = 0;
  std::int64_t i = 0;
  for (; i + kLanes * kFactors <= count; i += kLanes * kFactors) {
    double lanes[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (std::int64_t k = 0; k < kFactors; ++k) {
      for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] *= weights[i + k * kLanes + l];
    }
    for (const double lane : lanes) sum -= std::log(lane);
  }
  for (; i < count; ++i) sum -= std::log(weights[i]);
  return sum;
}

CanonicalTraits make_canonical(const TraitVariances& variances, std::int64_t traits,
                               double largest_eigenvalue) {
  CanonicalTraits result;
  result.traits = traits;
  const int d = narrow(traits);
  Matrix lower = variances.residual;
  if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', d, lower.data(), d) != 0) return result;
  for (std::int64_t j = 0; j < traits; ++j) {
    const double pivot = lower[to_size(j * traits + j)];
    if (!(pivot > 0) || !std::isfinite(pivot)) return result;
    result.log_det_residual += 2 * std::log(pivot);
    for (std::int64_t i = 0; i < j; ++i) lower[to_size(j * traits + i)] = 0;
  }
  Matrix middle = variances.genetic;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, d, d, 1,
              lower.data(), d, middle.data(), d);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, d, d, 1,
              lower.data(), d, middle.data(), d);
  result.ratios = eigenvectors(middle, traits);
  for (auto& ratio : result.ratios) {
    if (ratio * largest_eigenvalue < 1e-9) ratio = 0;
    ratio = std::min(ratio, kLargestRatio);
  }
  result.back = product(lower, false, middle, false, traits);
  // T = Q' L^-1: solves T L = Q'.
  result.to.resize(middle.size());
  for (std::int64_t i = 0; i < traits; ++i) {
    for (std::int64_t j = 0; j < traits; ++j) {
      result.to[to_size(j * traits + i)] = middle[to_size(i * traits + j)];
    }
  }
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, d, d,
              1, lower.data(), d, result.to.data(), d);
  result.is_residual_positive = true;
  return result;
}

TraitVariances variances_of(const CanonicalTraits& canonical) {
  const std::vector<double> ones(to_size(canonical.traits), 1);
  return {from_eigenvectors(canonical.back, canonical.ratios, canonical.traits),
          from_eigenvectors(canonical.back, ones, canonical.traits)};
}

TraitVariances em_step(const CanonicalTraits& from, const VarianceGradient& gradient,
                       std::int64_t rows) {
  // With the gradient S of a variance V the EM algorithm goes to V + 2/n V S V.
  const double scale = 2.0 / static_cast<double>(rows);
  Matrix genetic = gradient.genetic, residual = gradient.residual;
  for (std::int64_t b = 0; b < from.traits; ++b) {
    for (std::int64_t a = 0; a < from.traits; ++a) {
      const auto cell = to_size(b * from.traits + a);
      const double ratios = from.ratios[to_size(a)] * from.ratios[to_size(b)];
      genetic[cell] *= scale * ratios;
      residual[cell] *= scale;
      if (a == b) {
        genetic[cell] += from.ratios[to_size(a)];
        residual[cell] += 1;
      }
    }
  }
  return {congruent(from.back, genetic, from.traits),
          congruent(from.back, residual, from.traits)};
}

TraitVariances after(const CanonicalTraits& from, const ScoringStep& step,
                     double length) {
  // One step never takes more than this share of the residual variance of a trait.
  constexpr double kLeastLeft = 0.05;
  const std::int64_t d = from.traits;
  Matrix factor = diagonal(std::vector<double>(to_size(d), 1));
  Matrix residual = factor;
  std::vector<double> ratios = from.ratios;
  for (std::int64_t b = 0; b < d; ++b) {
    const double ratio = from.ratios[to_size(b)];
    ratios[to_size(b)] =
        std::max(0.0, ratio + length * step.genetic[to_size(b * d + b)]);
    for (std::int64_t a = 0; a < b && ratio > 0; ++a) {
      factor[to_size(b * d + a)] = length * step.genetic[to_size(b * d + a)] / ratio;
    }
  }
  for (std::size_t i = 0; i < residual.size(); ++i) {
    residual[i] += length * step.residual[i];
  }
  residual = with_eigenvalues_from(residual, kLeastLeft, d);
  const Matrix back = product(from.back, false, step.turn, true, d);
  return {congruent(back, from_eigenvectors(factor, ratios, d), d),
          congruent(back, residual, d)};
}

VarianceLikelihood::VarianceLikelihood(const MixedModelData& data, LikelihoodKind kind)
    : data_(data),
      kind_(kind),
      rows_(data.rows),
      traits_(data.trait_count()),
      covariates_(data.covariate_count()),
      largest_eigenvalue_(
          *std::max_element(data.eigenvalues.begin(), data.eigenvalues.end())) {
  for (const double value : data.eigenvalues) {
    root_eigenvalues_.push_back(std::sqrt(value));
  }
  const auto cells = to_size(rows_ * traits_);
  canonical_values_.resize(cells);
  weights_.resize(cells);
  weighted_residuals_.resize(cells);
  genetic_leverage_.resize(to_size(traits_));
  residual_leverage_.resize(to_size(traits_));
  design_ = data.covariates.values;
  set_snp(nullptr);
}

void VarianceLikelihood::set_snp(const double* snp) {
  covariates_ = data_.covariate_count() + (snp != nullptr ? 1 : 0);
  design_.resize(to_size(rows_ * covariates_));
  if (snp != nullptr) {
    std::copy(snp, snp + rows_, design_.end() - rows_);
  }
  weighted_design_.resize(design_.size());
  inverse_.resize(to_size(covariates_ * covariates_));
  squares_.resize(inverse_.size());
  canonical_coefficients_.resize(to_size(covariates_ * traits_));
  factors_.resize(to_size(covariates_ * covariates_ * traits_));
  const int n = narrow(rows_), c = narrow(covariates_);
  log_det_design_ = 0;
  if (c == 0) return;
  Matrix square(to_size(covariates_ * covariates_));
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, c, n, 1, design_.data(), n, 0,
              square.data(), c);
  if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', c, square.data(), c) != 0) {
    log_det_design_ = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  for (int j = 0; j < c; ++j) {
    log_det_design_ += 2 * std::log(square[static_cast<std::size_t>(j * c + j)]);
  }
}

/// The weighted regression of one canonical trait.
void VarianceLikelihood::fit_trait(std::int64_t trait) {
  const int n = narrow(rows_), c = narrow(covariates_);
  const double* values = &canonical_values_[to_size(trait * rows_)];
  const double* weights = &weights_[to_size(trait * rows_)];
  double* residuals = &weighted_residuals_[to_size(trait * rows_)];
  genetic_leverage_[to_size(trait)] = residual_leverage_[to_size(trait)] = 0;
  if (c == 0) {
    for (std::int64_t i = 0; i < rows_; ++i) residuals[i] = weights[i] * values[i];
    quadratic_ += cblas_ddot(n, residuals, 1, values, 1);
    return;
  }
  for (std::int64_t j = 0; j < covariates_; ++j) {
    const double* column = &design_[to_size(j * rows_)];
    double* weighted = &weighted_design_[to_size(j * rows_)];
    for (std::int64_t i = 0; i < rows_; ++i) weighted[i] = weights[i] * column[i];
  }
  double* factor = &factors_[to_size(trait * covariates_ * covariates_)];
  double* coefficients = &canonical_coefficients_[to_size(trait * covariates_)];
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, c, c, n, 1, design_.data(), n,
              weighted_design_.data(), n, 0, factor, c);
  cblas_dgemv(CblasColMajor, CblasTrans, n, c, 1, weighted_design_.data(), n, values, 1,
              0, coefficients, 1);
  if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', c, factor, c) != 0) {
    quadratic_ = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, c, factor, c,
              coefficients, 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, c, factor, c,
              coefficients, 1);
  for (std::int64_t i = 0; i < rows_; ++i) residuals[i] = weights[i] * values[i];
  cblas_dgemv(CblasColMajor, CblasNoTrans, n, c, -1, weighted_design_.data(), n,
              coefficients, 1, 1, residuals, 1);
  quadratic_ += cblas_ddot(n, residuals, 1, values, 1);
  if (kind_ == LikelihoodKind::full) return;
  std::copy(factor, factor + c * c, inverse_.begin());
  for (int j = 0; j < c; ++j) log_det_information_ += 2 * std::log(factor[j * c + j]);
  LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', c, inverse_.data(), c);
  residual_leverage_[to_size(trait)] = leverage();
  for (std::int64_t j = 0; j < covariates_; ++j) {
    double* column = &weighted_design_[to_size(j * rows_)];
    for (std::int64_t i = 0; i < rows_; ++i) column[i] *= root_eigenvalues_[to_size(i)];
  }
  genetic_leverage_[to_size(trait)] = leverage();
}

/// tr((X'WX)^-1 M'M) of what stands in the scratch.
double VarianceLikelihood::leverage() {
  const int n = narrow(rows_), c = narrow(covariates_);
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, c, c, n, 1,
              weighted_design_.data(), n, weighted_design_.data(), n, 0,
              squares_.data(), c);
  double sum = 0;
  for (int j = 0; j < c; ++j) {
    for (int i = j; i < c; ++i) {
      sum += (i == j ? 1 : 2) * inverse_[to_size(j * c + i)] *
             squares_[to_size(j * c + i)];
    }
  }
  return sum;
}

double VarianceLikelihood::go_to(const TraitVariances& variances) {
  constexpr double kNowhere = -std::numeric_limits<double>::infinity();
  canonical_ = make_canonical(variances, traits_, largest_eigenvalue_);
  if (!canonical_.is_residual_positive) return kNowhere;
  const int n = narrow(rows_), d = narrow(traits_);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, d, d, 1,
              data_.traits.values.data(), n, canonical_.to.data(), d, 0,
              canonical_values_.data(), n);
  log_det_information_ = quadratic_ = log_det_rows_ = 0;
  for (std::int64_t j = 0; j < traits_; ++j) {
    const double ratio = canonical_.ratios[to_size(j)];
    double* weights = &weights_[to_size(j * rows_)];
    for (std::int64_t i = 0; i < rows_; ++i) {
      weights[i] = 1 / (data_.eigenvalues[to_size(i)] * ratio + 1);
    }
    log_det_rows_ += log_of_inverses(weights, rows_);
    fit_trait(j);
  }
  const bool is_restricted = kind_ == LikelihoodKind::restricted;
  const auto degrees = static_cast<double>(rows_ - (is_restricted ? covariates_ : 0));
  double twice =
      -degrees * static_cast<double>(traits_) * std::log(2 * std::numbers::pi) -
      degrees * canonical_.log_det_residual - log_det_rows_ - quadratic_;
  if (is_restricted) {
    twice += static_cast<double>(traits_) * log_det_design_ - log_det_information_;
  }
  return std::isfinite(twice) ? 0.5 * twice : kNowhere;
}

VarianceGradient VarianceLikelihood::gradient() const {
  const int n = narrow(rows_), d = narrow(traits_);
  VarianceGradient result{Matrix(to_size(traits_ * traits_)),
                          Matrix(to_size(traits_ * traits_))};
  Matrix scaled = weighted_residuals_;
  for (std::int64_t j = 0; j < traits_; ++j) {
    double* column = &scaled[to_size(j * rows_)];
    for (std::int64_t i = 0; i < rows_; ++i) column[i] *= data_.eigenvalues[to_size(i)];
  }
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, d, d, n, 0.5,
              weighted_residuals_.data(), n, scaled.data(), n, 0, result.genetic.data(),
              d);
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, d, d, n, 0.5,
              weighted_residuals_.data(), n, weighted_residuals_.data(), n, 0,
              result.residual.data(), d);
  const std::vector<double> ones(to_size(rows_), 1);
  for (std::int64_t j = 0; j < traits_; ++j) {
    const double* weights = &weights_[to_size(j * rows_)];
    const auto cell = to_size(j * traits_ + j);
    result.genetic[cell] -=
        0.5 * (cblas_ddot(n, data_.eigenvalues.data(), 1, weights, 1) -
               genetic_leverage_[to_size(j)]);
    result.residual[cell] -= 0.5 * (cblas_ddot(n, ones.data(), 1, weights, 1) -
                                    residual_leverage_[to_size(j)]);
  }
  return result;
}

ScoringStep VarianceLikelihood::scoring_step(const VarianceGradient& gradient) const {
  const std::int64_t d = traits_;
  const int n = narrow(rows_);
  // Information on elements a, b of Vg and Ve: sums of D^2 w_a w_b, D w_a w_b, w_a w_b.
  Matrix squares(to_size(d * d)), cross(to_size(d * d)), plain(to_size(d * d));
  Matrix scaled = weights_;
  const auto multiply = [&](Matrix& sums) {
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, narrow(d), narrow(d), n, 1,
                scaled.data(), n, weights_.data(), n, 0, sums.data(), narrow(d));
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        scaled[to_size(j * rows_ + i)] *= data_.eigenvalues[to_size(i)];
      }
    }
  };
  multiply(plain);
  multiply(cross);
  multiply(squares);

  // Canonical traits without genetic variance come first; among them any rotation is
  // as canonical, and one makes the gradient diagonal.
  std::int64_t without = 0;
  while (without < d && canonical_.ratios[to_size(without)] == 0) ++without;
  Matrix turn = diagonal(std::vector<double>(to_size(d), 1));
  if (without > 1) {
    Matrix block(to_size(without * without));
    for (std::int64_t b = 0; b < without; ++b) {
      for (std::int64_t a = 0; a < without; ++a) {
        const auto cell = to_size(b * d + a);
        block[to_size(b * without + a)] =
            gradient.genetic[cell] -
            cross[cell] / plain[cell] * gradient.residual[cell];
      }
    }
    eigenvectors(block, without);
    for (std::int64_t b = 0; b < without; ++b) {
      for (std::int64_t a = 0; a < without; ++a) {
        turn[to_size(a * d + b)] = block[to_size(b * without + a)];
      }
    }
  }
  const Matrix genetic = congruent(turn, gradient.genetic, d);
  const Matrix residual = congruent(turn, gradient.residual, d);

  ScoringStep step{std::move(turn), Matrix(to_size(d * d), 0),
                   Matrix(to_size(d * d), 0), 0};
  const auto slope = [&](std::int64_t a, std::int64_t b) {
    const auto cell = to_size(b * d + a);
    return genetic[cell] - cross[cell] / plain[cell] * residual[cell];
  };
  for (std::int64_t b = 0; b < d; ++b) {
    for (std::int64_t a = 0; a < d; ++a) {
      const auto cell = to_size(b * d + a);
      const std::int64_t low = std::min(a, b), high = std::max(a, b);
      double information = squares[cell] - cross[cell] * cross[cell] / plain[cell];
      double change = 0;
      if (high >= without) {
        // A change beside the diagonal also adds change^2 / ratio to the variance of
        // the trait with the lower ratio, which that trait may not want.
        if (a != b) {
          information +=
              2 * std::max(0.0, -slope(low, low)) / canonical_.ratios[to_size(high)];
        }
        change = 2 * slope(a, b) / information;
      } else if (a == b) {
        change = std::max(0.0, 2 * slope(a, a) / information);
      }
      step.genetic[cell] = change;
      step.residual[cell] = (2 * residual[cell] - cross[cell] * change) / plain[cell];
    }
  }
  step.predicted_gain = 0.5 * (trace_of_product(genetic, step.genetic) +
                               trace_of_product(residual, step.residual));
  return step;
}

std::vector<double> VarianceLikelihood::coefficients() const {
  const int c = narrow(covariates_), d = narrow(traits_);
  Matrix result(canonical_coefficients_.size());
  if (c == 0) return result;
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, c, d, d, 1,
              canonical_coefficients_.data(), c, canonical_.back.data(), d, 0,
              result.data(), c);
  return result;
}

VarianceLikelihood::SnpEffect VarianceLikelihood::snp_effect() const {
  SnpEffect result;
  for (std::int64_t j = 0; j < traits_; ++j) {
    // The last pivot of the Cholesky factor is what the covariates leave of the SNP.
    const double pivot = factors_[to_size((j + 1) * covariates_ * covariates_ - 1)];
    result.effects.push_back(
        canonical_coefficients_[to_size((j + 1) * covariates_ - 1)]);
    result.precisions.push_back(pivot * pivot);
  }
  return result;
}

}  // namespace kinflow
