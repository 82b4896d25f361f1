// The methods of association studies on one data set.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/genetics/clump.h"
#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/reproduce/experiments.h"
#include "kinflow/train/fit.h"

namespace kinflow {

namespace gwas_method {
inline constexpr const char* kSingle = "single";
inline constexpr const char* kRankNormal = "rank-normal, joint";
inline constexpr const char* kBaseline = "baseline flow";
inline constexpr const char* kAdjusted = "adjusted flow";
}  // namespace gwas_method
std::vector<std::string> gwas_methods();

/// What is tested, and how its flows are trained.
struct GwasTrial {
  GwasData data;
  FitRequest flow;        ///< as `gwas` has it by default; both flows are trained so
  std::string directory;  ///< for the flows
  std::int64_t threads = 1;
  const std::atomic<bool>* stop = nullptr;
};

/// P-values of one method.
struct GwasTrialMethod {
  std::string name;
  /// [variants of the .bim] NaN: not tested; of single traits the smallest one times
  /// their number
  std::vector<double> p;
  /// Those of each test by itself, which should be uniform: p, or of every single
  /// trait.
  std::vector<std::vector<double>> uniform_p;
  double degrees = 1;  ///< of freedom of a test in uniform_p
};

/// Single traits as rank-normal residuals; the same tested jointly; the latents of a
/// flow that takes people as independent; and of one that knows their relationship. All
/// by score tests in one pass over the genotypes.
std::vector<GwasTrialMethod> run_gwas_trial(const GwasTrial& trial, GwasInputs& inputs,
                                            Logger& logger);

/// How `kinflow gwas` trains flows of related people by default.
FitRequest gwas_flow(const ExperimentOptions& options, std::uint64_t seed);

/// Loci at a level of 0.05 over all variants of the study (Bonferroni).
std::vector<Locus> loci_of(const GwasTrialMethod& method, const GwasInputs& inputs);

}  // namespace kinflow
