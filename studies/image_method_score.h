// What one way of training a flow of images came to, kept in the folder of a study.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/evaluate/image_evaluation.h"
#include "kinflow/report/sample_sheet.h"

namespace kinflow {

struct ImageMethodScore {
  std::string method;
  std::int64_t best_epoch = 0;  ///< whose weights the model has
  double valid_nll_nats = 0;
  std::int64_t skipped_steps = 0;
  /// Of the people with several training images, or of the channels of latents where
  /// these have their own; empty for a baseline.
  std::vector<double> correlations = {};
  double typical_correlation = 0;
  std::vector<double> test_nll_nats = {};  ///< of every test image by itself
  ImageDistances distances = {};           ///< of drawn images from all test images
  /// From one test image of each person; empty where they are too few.
  std::optional<ImageDistances> indiv_distances = {};
  SheetImages samples = {};  ///< the first images that were drawn
};

nlohmann::json to_json(const ImageMethodScore& score);
/// Reads what to_json wrote. @param source  stands for the file in messages
ImageMethodScore image_method_score_from(const nlohmann::json& json,
                                         const std::string& source);

/// Scores of a model; those of its training are left to the caller.
/// @param options  with samples to draw
/// @param kept     of them
ImageMethodScore score_images(const std::string& method, const ImageModel& model,
                              const ImageSet& test,
                              const ImageEvaluationOptions& options, std::int64_t kept);

// What tables compare of drawn images.
inline double frechet(const ImageDistances& distances) { return distances.frechet; }
inline double f_8(const ImageDistances& distances) { return distances.prd.f_8; }
inline double f_one_8th(const ImageDistances& distances) {
  return distances.prd.f_one_8th;
}
inline double f_4(const ImageDistances& distances) { return distances.prd.f_4; }
inline double f_one_4th(const ImageDistances& distances) {
  return distances.prd.f_one_4th;
}

/// Pixels [n, C, H, W] uint8 as a sheet takes them.
SheetImages sheet_images(const Array& pixels);

/// The precision-recall curve whose every point is the mean of those of several.
PrdCurve mean_curve(const std::vector<PrdCurve>& curves);

}  // namespace kinflow
