// Tests of many SNPs at the variances of the null model, as matrix products.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/genetics/mixed_model.h"
#include "kinflow/genetics/snp_results.h"

namespace kinflow {

/// Tests every SNP with Vg and Ve as the null model has them. In canonical traits that
/// are independent weighted regressions on the SNP whose chi-squares are added. At the
/// ML fit it is the score test (GEMMA's -lmm 3), at the REML fit the Wald test with the
/// variances of the null model. Effects are those of generalised least squares.
///
/// The p-value is that of chi-square; of one trait at the ML fit it is that of F with
/// 1 and rows - covariates - 1 degrees, as GEMMA's.
class FixedVarianceTest {
 public:
  FixedVarianceTest(const MixedModelData& data, const MixedModelFit& null);

  /// Threads may call it at the same time.
  /// @param snps  U'X [rows x count], column-major
  void test(const double* snps, std::int64_t count, SnpResults& results) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t traits() const { return traits_; }

 private:
  void test_block(const double* snps, std::int64_t first, std::int64_t count,
                  SnpResults& results) const;

  std::int64_t rows_, traits_, covariates_;
  double f_degrees_ = 0;         ///< 0: chi-square
  std::vector<double> back_;     ///< from canonical effects to those of the traits
  std::vector<double> linear_;   ///< [rows x traits (1 + covariates)]: P y of every
                                 ///< canonical trait, then Z of W - Z Z' = P
  std::vector<double> weights_;  ///< [rows x traits]
};

}  // namespace kinflow
