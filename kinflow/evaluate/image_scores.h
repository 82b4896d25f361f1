// Scores of a model of images: likelihood, and distances between its images and real
// ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/evaluate/image_features.h"
#include "kinflow/evaluate/prd.h"

namespace kinflow {

struct ImageLikelihood {
  std::int64_t images = 0;
  double mean_nll_nats = 0;  ///< of single images, in units of their levels
  double bits_per_dimension = 0;
};

/// How far generated images are from real ones, in a feature space.
struct ImageDistances {
  std::string features;  ///< their name; the numbers mean nothing without it
  std::int64_t real_images = 0;
  std::int64_t generated_images = 0;
  double frechet = 0;
  PrdCurve prd_curve;
  PrdScores prd;
};

/// What a report says of one model. "indiv" is the same on one image of each person, so
/// that a person with many images counts once.
struct ImageScores {
  ImageLikelihood likelihood;
  ImageLikelihood indiv_likelihood;
  std::optional<ImageDistances> distances;        ///< none without draws
  std::optional<ImageDistances> indiv_distances;  ///< none for few people
};

/// Means of log densities of images in units of their levels.
/// @param log_density_nats  [n] floating, n at least 1; else InputError. NumericalError
///     that names the first image whose density is not finite.
/// @param dimensions  channels x height x width
ImageLikelihood image_likelihood(const Array& log_density_nats,
                                 std::int64_t dimensions);

/// Frechet distance and precision-recall curve between two sets of images.
/// @param features  of each set at least as many as clusters of the curve; else
///     InputError
ImageDistances image_distances(const ImageFeatures& features,
                               const PrdOptions& options = {});

}  // namespace kinflow
