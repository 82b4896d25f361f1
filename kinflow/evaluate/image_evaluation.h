// All scores of a model of images on a set of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/evaluate/image_scores.h"
#include "kinflow/images/image_set.h"
#include "kinflow/model/images/image_model.h"

namespace kinflow {

struct ImageEvaluationOptions {
  std::uint64_t seed =
      0;  ///< of dequantisation, of who stands for a person and of draws
  /// Images to draw and compare with the set in built-in features; 0: none.
  std::int64_t samples = 0;
  /// Features of the set, image by image, and of images that were drawn before, to
  /// compare instead; or null.
  const ImageFeatures* features = nullptr;
};

struct ImageEvaluation {
  ImageScores scores;
  std::int64_t people = 0;
  Array log_density_nats;  ///< [n] float64, of every image by itself
};

/// @param set  of the model's shape; of distances, at least as many images as
///     clusters of a precision-recall curve
ImageEvaluation evaluate_images(const ImageModel& model, const ImageSet& set,
                                const ImageEvaluationOptions& options);

}  // namespace kinflow
