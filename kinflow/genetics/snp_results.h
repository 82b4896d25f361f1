// What association tests give for a block of SNPs.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// One entry for each SNP of a block; all are NaN for a SNP that the covariates
/// determine (a constant one beside an intercept).
struct SnpResults {
  std::vector<double> chi_square;       ///< [snps] with as many degrees as traits
  std::vector<double> log10_p;          ///< [snps] -log10 of the p-value
  std::vector<double> effects;          ///< [snps x traits], column-major
  std::vector<double> standard_errors;  ///< [snps x traits], column-major

  void resize(std::int64_t snps, std::int64_t traits);
};

/// The share of a SNP's (weighted) sum of squares that the covariates must leave.
inline constexpr double kLeastLeftOfSnp = 1e-8;

/// -log10 P(F > f) with 1 and the given degrees of freedom; NaN where f is.
double log10_p_of_f(double f, double degrees);
/// -log10 P(X > x) of a chi-squared variable; NaN where x is.
double log10_p_of_chi_square(double x, double degrees);

}  // namespace kinflow
