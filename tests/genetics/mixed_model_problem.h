// Traits and SNPs of simulated families, and the mixed model as dense algebra over all
// values of all traits.
#pragma once

#include <cblas.h>
#include <lapacke.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "kinflow/core/random.h"
#include "kinflow/genetics/mixed_model.h"
#include "kinflow/genetics/relationship_eigen.h"

namespace kinflow {

struct MixedModelProblem {
  std::int64_t rows = 0, traits = 0, snps = 0;
  std::vector<double> relationship;  ///< [rows x rows], centred
  NamedColumns trait_columns, covariate_columns;
  std::vector<double> genotypes;  ///< [rows x snps], 0, 1 or 2
  RelationshipEigen eigen;
  MixedModelData data;
  std::vector<double> rotated_snps;
};

/// Genetic values are sums over half as many loci as there are rows, K is the mean of
/// the loci's products; traits have this heritability and correlated parts. The first
/// SNP acts on every trait.
inline MixedModelProblem simulate_mixed_model(std::int64_t rows, std::int64_t traits,
                                              std::int64_t covariates,
                                              std::int64_t snps, double heritability,
                                              std::uint64_t seed) {
  openblas_set_num_threads(1);  // small matrices
  Random random(seed);
  MixedModelProblem problem;
  problem.rows = rows;
  problem.traits = traits;
  problem.snps = snps;
  const auto n = static_cast<std::size_t>(rows);
  const std::size_t loci = n / 2;
  std::vector<double> scores(n * loci);
  for (auto& score : scores) score = random.normal();
  problem.relationship.resize(n * n);
  const auto order = static_cast<int>(n), count = static_cast<int>(loci);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, order, order, count,
              1 / static_cast<double>(loci), scores.data(), order, scores.data(), order,
              0, problem.relationship.data(), order);
  // Standard normal numbers of rows, with the covariance K.
  const auto genetic_values = [&] {
    std::vector<double> result(n, 0);
    for (std::size_t k = 0; k < loci; ++k) {
      const double effect = random.normal() / std::sqrt(static_cast<double>(loci));
      for (std::size_t i = 0; i < n; ++i) result[i] += effect * scores[k * n + i];
    }
    return result;
  };
  for (std::int64_t s = 0; s < snps; ++s) {
    for (std::size_t i = 0; i < n; ++i) {
      problem.genotypes.push_back(
          static_cast<double>((random.uniform() < 0.3) + (random.uniform() < 0.4)));
    }
  }
  const auto shared_genetic = genetic_values();
  std::vector<double> shared_residual(n);
  for (auto& value : shared_residual) value = random.normal();
  for (std::int64_t t = 0; t < traits; ++t) {
    problem.trait_columns.names.push_back("trait" + std::to_string(t + 1));
    const auto own_genetic = genetic_values();
    for (std::size_t i = 0; i < n; ++i) {
      const double genetic = 0.6 * shared_genetic[i] + 0.8 * own_genetic[i];
      const double residual = 0.5 * shared_residual[i] + 0.87 * random.normal();
      const double snp = snps > 0 ? 0.5 * problem.genotypes[i] : 0;
      problem.trait_columns.values.push_back(std::sqrt(heritability) * genetic +
                                             std::sqrt(1 - heritability) * residual +
                                             snp);
    }
  }
  for (std::int64_t c = 0; c < covariates; ++c) {
    problem.covariate_columns.names.push_back(c == 0 ? "intercept"
                                                     : "covariate" + std::to_string(c));
    for (std::size_t i = 0; i < n; ++i) {
      problem.covariate_columns.values.push_back(c == 0 ? 1 : random.normal());
    }
  }
  center_relationship(problem.relationship, rows);
  problem.eigen = eigen_of_relationship(problem.relationship, rows);
  problem.data = make_mixed_model_data(problem.eigen, problem.trait_columns,
                                       problem.covariate_columns);
  problem.rotated_snps = rotate(problem.eigen, problem.genotypes.data(), snps);
  return problem;
}

/// The model as one regression of all values, traits one below the other.
class DenseMixedModel {
 public:
  DenseMixedModel(const MixedModelProblem& problem, const TraitVariances& variances,
                  const double* snp = nullptr)
      : n_(problem.rows), d_(problem.traits) {
    const auto design = design_of(problem, snp);
    c_ = static_cast<std::int64_t>(design.size()) / n_;
    const auto order = n_ * d_;
    std::vector<double> covariance(size(order * order));
    for (std::int64_t a = 0; a < d_; ++a) {
      for (std::int64_t b = 0; b < d_; ++b) {
        for (std::int64_t i = 0; i < n_; ++i) {
          for (std::int64_t j = 0; j < n_; ++j) {
            covariance[size((b * n_ + j) * order + a * n_ + i)] =
                variances.genetic[size(b * d_ + a)] *
                    problem.relationship[size(j * n_ + i)] +
                (i == j ? variances.residual[size(b * d_ + a)] : 0);
          }
        }
      }
    }
    std::vector<double> all(size(order * d_ * c_), 0);
    for (std::int64_t a = 0; a < d_; ++a) {
      for (std::int64_t k = 0; k < c_; ++k) {
        for (std::int64_t i = 0; i < n_; ++i) {
          all[size((a * c_ + k) * order + a * n_ + i)] = design[size(k * n_ + i)];
        }
      }
    }
    log_det_ = factor(covariance, order);
    auto values = problem.trait_columns.values;
    const auto m = static_cast<int>(order), q = static_cast<int>(d_ * c_);
    const auto whiten = [&](std::vector<double>& columns, int count) {
      cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, m,
                  count, 1, covariance.data(), m, columns.data(), m);
    };
    whiten(all, q);
    whiten(values, 1);
    information_.resize(size(d_ * c_ * d_ * c_));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, q, q, m, 1, all.data(), m,
                all.data(), m, 0, information_.data(), q);
    coefficients_.resize(size(q));
    cblas_dgemv(CblasColMajor, CblasTrans, m, q, 1, all.data(), m, values.data(), 1, 0,
                coefficients_.data(), 1);
    log_det_information_ = factor(information_, q);
    LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', q, 1, information_.data(), q,
                   coefficients_.data(), q);
    cblas_dgemv(CblasColMajor, CblasNoTrans, m, q, -1, all.data(), m,
                coefficients_.data(), 1, 1, values.data(), 1);
    quadratic_ = cblas_ddot(m, values.data(), 1, values.data(), 1);
    std::vector<double> square(size(c_ * c_));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, static_cast<int>(c_),
                static_cast<int>(c_), static_cast<int>(n_), 1, design.data(),
                static_cast<int>(n_), design.data(), static_cast<int>(n_), 0,
                square.data(), static_cast<int>(c_));
    log_det_design_ = factor(square, c_);
  }

  double log_likelihood(LikelihoodKind kind) const {
    const bool is_restricted = kind == LikelihoodKind::restricted;
    const auto degrees = static_cast<double>((n_ - (is_restricted ? c_ : 0)) * d_);
    double twice = -degrees * std::log(2 * std::numbers::pi) - log_det_ - quadratic_;
    if (is_restricted) {
      twice += static_cast<double>(d_) * log_det_design_ - log_det_information_;
    }
    return 0.5 * twice;
  }

  /// Of the last column of the design, one for each trait.
  std::vector<double> last_effects() const {
    std::vector<double> effects;
    for (std::int64_t a = 0; a < d_; ++a) {
      effects.push_back(coefficients_[size((a + 1) * c_ - 1)]);
    }
    return effects;
  }
  /// Their covariance, [traits x traits].
  std::vector<double> last_covariance() const {
    auto inverse = information_;
    const auto q = static_cast<int>(d_ * c_);
    LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', q, inverse.data(), q);
    std::vector<double> result(size(d_ * d_));
    for (std::int64_t a = 0; a < d_; ++a) {
      for (std::int64_t b = 0; b <= a; ++b) {
        result[size(a * d_ + b)] = result[size(b * d_ + a)] =
            inverse[size(((b + 1) * c_ - 1) * q + (a + 1) * c_ - 1)];
      }
    }
    return result;
  }
  /// effects' covariance^-1 effects.
  double last_chi_square() const {
    auto covariance = last_covariance();
    auto effects = last_effects();
    const auto d = static_cast<int>(d_);
    factor(covariance, d_);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, d,
                covariance.data(), d, effects.data(), 1);
    return cblas_ddot(d, effects.data(), 1, effects.data(), 1);
  }

 private:
  static std::size_t size(std::int64_t value) {
    return static_cast<std::size_t>(value);
  }
  static std::vector<double> design_of(const MixedModelProblem& problem,
                                       const double* snp) {
    auto design = problem.covariate_columns.values;
    if (snp != nullptr) design.insert(design.end(), snp, snp + problem.rows);
    return design;
  }
  /// The logarithm of the determinant; the matrix becomes its Cholesky factor.
  static double factor(std::vector<double>& matrix, std::int64_t order) {
    LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', static_cast<lapack_int>(order), matrix.data(),
                   static_cast<lapack_int>(order));
    double sum = 0;
    for (std::int64_t i = 0; i < order; ++i) {
      sum += 2 * std::log(matrix[size(i * order + i)]);
    }
    return sum;
  }

  std::int64_t n_, d_, c_ = 0;
  double log_det_ = 0, log_det_information_ = 0, quadratic_ = 0, log_det_design_ = 0;
  std::vector<double> information_, coefficients_;
};

}  // namespace kinflow
