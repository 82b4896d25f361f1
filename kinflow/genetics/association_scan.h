// Tests of many variants, streamed from genotype files by several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kinflow/genetics/association_file.h"
#include "kinflow/genetics/association_tests.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// Variants of a block: enough for tables of sums to pay (kernels/genotype_sums.h), few
/// enough for a block of 10,000 people to take about 100 megabytes.
inline constexpr std::int64_t kScanBlock = 1024;

/// The tests of some variants that follow each other in the scan.
struct ScannedBlock {
  std::span<const std::int64_t> variants;  ///< rows of the .bim
  /// [sets][variants] -log10 of p-values; NaN: not testable
  std::vector<std::vector<double>> log10_p;
  std::vector<std::string> lines;  ///< [sets] as format_associations() gives
};

struct ScanOptions {
  std::int64_t threads = 1;
  int autosomes = kHumanAutosomes;
  /// Interrupted is thrown between two blocks, or two Wald tests, once this is true;
  /// may be null.
  const std::atomic<bool>* stop = nullptr;
};

/// Tests variants in their order, with genotypes by the rules of SexedGenotypes. A
/// missing genotype is the mean of the others; a
/// variant that does not vary among the people has no p-value. Holds some blocks of
/// genotypes for each thread. Results do not depend on the number of threads.
/// @param people    rows of the .fam, the people of the tests in their order
/// @param variants  rows of the .bim; must stay as long as the call
/// @param take      gets the blocks one at a time, in order
void scan_variants(const Genotypes& genotypes, std::span<const std::int64_t> people,
                   std::span<const std::int64_t> variants,
                   const AssociationTests& tests, const ScanOptions& options,
                   const std::function<void(const ScannedBlock&)>& take);

}  // namespace kinflow
