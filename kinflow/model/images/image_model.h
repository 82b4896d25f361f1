// A trained flow of images with what it learned about people, in one file that holds no
// code.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/engine/images/image_latents.h"
#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/flow/glow/glow_flow.h"
#include "kinflow/images/image_set.h"
#include "kinflow/model/learned_dependence.h"

namespace kinflow {

struct ImageModel {
  std::unique_ptr<GlowFlow> flow;
  PrepareOptions prepare;  ///< how its images were prepared, with the bits of a pixel
  /// Independent, or blocks: the people with at least two training images.
  LearnedDependence dependence;
  /// Where latents have correlations of their own: those of latent_groups()
  /// (image_latents.h), the same for all people, who have their mean in `dependence`.
  std::vector<double> latent_correlations = {};
  nlohmann::json record;  ///< how it was trained; free form

  std::int64_t bits() const { return prepare.bits; }
  /// One line for a person about the dependence.
  std::string summary() const;
};

/// The correlations of the latents that leave the flow after one scale.
struct ScaleCorrelations {
  LatentScale scale;
  std::vector<double> correlations;  ///< of its channels

  double lowest() const;
  double mean() const;
  double highest() const;
};
/// Of every scale; empty where latents have no correlations of their own.
std::vector<ScaleCorrelations> correlations_by_scale(const ImageModel& model);

/// Writes a safetensors file with a versioned JSON description in its metadata.
void save_image_model(const std::string& path, const ImageModel& model);
/// Reads it back, bit for bit. Throws InputError for anything else than such a file.
ImageModel load_image_model(const std::string& path, nd::Device device = nd::kCPU);

/// The images of a set as arrays, each with its person.
ImageRows rows_of(const ImageSet& set);

/// InputError where images are not of the model's shape and bits.
/// @param path  of the images
void check_shape(const ImageModel& model, const ImageSet& set, const std::string& path);

}  // namespace kinflow
