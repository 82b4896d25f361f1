// Wald tests that estimate the variances anew with every SNP in the model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/genetics/mixed_model.h"
#include "kinflow/genetics/snp_results.h"
#include "kinflow/genetics/univariate_model.h"

namespace kinflow {

/// How far the variances of several traits are searched for with every SNP. The
/// defaults are GEMMA's: its p-values depend on where its EM algorithm stops.
struct WaldOptions {
  /// EM steps go on until one gains less; infinite takes none.
  double em_gain = 1e-3;
  int em_steps = 1000;
  /// SNPs with smaller p-values go on to the REML estimates; 1 takes all of them there.
  double refine_below = 1e-3;
};

/// GEMMA's -lmm 1: of one trait the ratio of variances by REML and an F test, of
/// several Vg and Ve by REML from their ML values without the SNP, and a chi-square
/// test. Threads may use it at the same time, each with a scratch of its own.
class WaldTest {
 public:
  /// @param data  its numbers must stay where they are
  /// @param null  the ML fit
  /// InputError where the kind of `null` is not `full`.
  WaldTest(const MixedModelData& data, const MixedModelFit& null,
           const WaldOptions& options = {});
  ~WaldTest();

  /// @param snps  U'X [rows x count], column-major
  /// The chi-square of one trait is its F statistic.
  /// @param stop  Interrupted where it becomes true
  void test(const double* snps, std::int64_t count, SnpResults& results,
            const std::atomic<bool>* stop = nullptr) const;

 private:
  class OneTrait;

  void test_several(const double* snps, std::int64_t count, SnpResults& results,
                    const std::atomic<bool>* stop) const;

  const MixedModelData& data_;
  TraitVariances start_;
  WaldOptions options_;
  std::unique_ptr<OneTrait> one_trait_;
};

}  // namespace kinflow
