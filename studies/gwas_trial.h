// The methods of association studies on one data set.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/genetics/clump.h"
#include "kinflow/gwas/gwas_inputs.h"

namespace kinflow {

namespace gwas_method {
inline constexpr const char* kSingle = "single";
inline constexpr const char* kRankNormal = "rank-normal, joint";
inline constexpr const char* kBaseline = "baseline flow";
inline constexpr const char* kAdjusted = "adjusted flow";
inline constexpr const char* kBaselineOfScores = "baseline flow of rank-normal";
inline constexpr const char* kAdjustedOfScores = "adjusted flow of rank-normal";
inline constexpr const char* kSharedOfScores =
    "adjusted flow of rank-normal, shared lambda";
inline constexpr const char* kOwnOfScores =
    "adjusted flow of rank-normal, lambda of each latent";
}  // namespace gwas_method
std::vector<std::string> gwas_methods();

/// What is tested, and how its flows are trained, in one thread.
struct GwasTrial {
  GwasData data;
  std::uint64_t seed = 0;  ///< of the flows
  std::string device = "cpu";
  std::string directory;  ///< for the flows
  const std::atomic<bool>* stop = nullptr;
};

/// P-values of one method.
struct GwasTrialMethod {
  std::string name;
  /// [variants of the .bim] -log10 p, NaN: not tested; of single traits that of the
  /// smallest p-value times their number
  std::vector<double> log10_p;
  /// Those of each test by itself, whose p-values should be uniform: log10_p, or of
  /// every single trait.
  std::vector<std::vector<double>> uniform_log10_p;
  double degrees = 1;  ///< of freedom of a test in uniform_log10_p
};

/// Single traits as rank-normal residuals; the same tested jointly; the latents of a
/// flow of residuals that takes people as independent, and of one that knows their
/// relationship; and of such flows of the rank-normal residuals. Flows are trained as
/// `kinflow gwas` does by default, where the likelihood chooses between a lambda that
/// latents share and one of each; of the rank-normal residuals also with either. All by
/// score tests in one pass over the genotypes.
std::vector<GwasTrialMethod> run_gwas_trial(const GwasTrial& trial, GwasInputs& inputs,
                                            Logger& logger);

/// Loci at a level of 0.05 over all variants of the study (Bonferroni).
std::vector<Locus> loci_of(const GwasTrialMethod& method, const GwasInputs& inputs);

}  // namespace kinflow
