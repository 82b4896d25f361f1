// What association tests give for a block of SNPs.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// One entry for each SNP of a block; all are NaN for a SNP that the covariates
/// determine (a constant one beside an intercept).
struct SnpResults {
  std::vector<double> chi_square;       ///< [snps] with as many degrees as traits
  std::vector<double> p_value;          ///< [snps]
  std::vector<double> effects;          ///< [snps x traits], column-major
  std::vector<double> standard_errors;  ///< [snps x traits], column-major

  void resize(std::int64_t snps, std::int64_t traits);
};

/// The share of a SNP's (weighted) sum of squares that the covariates must leave.
inline constexpr double kLeastLeftOfSnp = 1e-8;

/// P(F > f) with 1 and so many degrees of freedom.
double f_tail(double f, double degrees);

}  // namespace kinflow
