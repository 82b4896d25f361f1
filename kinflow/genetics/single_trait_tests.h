// The univariate way to test many traits: each on its own, the smallest p-value
// counts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/genetics/score_test.h"
#include "kinflow/genetics/wald_test.h"

namespace kinflow {

enum class TestKind { score, wald };

struct SingleTraitResults {
  std::vector<SnpResults> traits;
  std::vector<double> largest_log10_p;  ///< [snps] of the smallest p-value
  /// [snps] of the smallest p-value times the number of traits, at most 1 (Bonferroni)
  std::vector<double> corrected_log10_p;
};

/// A mixed model of its own for every trait, and a score or Wald test (GEMMA's -lmm 3
/// or -lmm 1) of every SNP in each.
class SingleTraitTests {
 public:
  SingleTraitTests(const MixedModelData& data, TestKind kind);
  ~SingleTraitTests();

  /// Threads may call it at the same time.
  void test(const double* snps, std::int64_t count, SingleTraitResults& results) const;

  /// The ML fits of the null models.
  std::vector<MixedModelFit> null_fits() const;

 private:
  struct Trait;
  std::vector<std::unique_ptr<Trait>> traits_;
};

}  // namespace kinflow
