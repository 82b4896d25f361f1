// Biomarkers of related individuals, ready for a study: rows, laws and methods.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "studies/biomarker_data.h"
#include "studies/methods.h"

namespace kinflow {

namespace biomarker_method {
inline constexpr const char* kBaselineCalibrated = "baseline, then calibrated";
/// Trained as related rows are by default, but for the relatedness.
inline constexpr const char* kUnadjusted = "unadjusted: ";
inline constexpr const char* kBaselineMore = "baseline, 12 times the trainings";
// Each before the name of a way of training.
inline constexpr const char* kIndependent = "independent: ";
inline constexpr const char* kSnps = "SNPs: ";
inline constexpr const char* kComponents = "components: ";
inline constexpr const char* kPedigree = "pedigree: ";
inline constexpr const char* kPedigreeShared = "pedigree, shared lambda: ";
inline constexpr const char* kPedigreeOwn = "pedigree, lambda of each latent: ";
}  // namespace biomarker_method

/// The prefixes of the sources of relatedness.
std::vector<std::string> relatedness_prefixes();

/// One set for each seed, which is that of the split, the weights and the row order.
/// Covariates are regressed out by the training rows, whose residuals also give the
/// scale of every trait.
/// @param settings  device, threads, quick
std::vector<PlannedSet> plan_biomarker_sets(
    const std::shared_ptr<const BiomarkerData>& data, const MethodSettings& settings,
    const std::vector<std::uint64_t>& seeds, Logger& logger);

}  // namespace kinflow
