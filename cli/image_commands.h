// What the verbs do with models of images.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "console.h"
#include "image_options.h"

namespace kinflow::cli {

/// evaluate, as typed; what tables have too is filled in by the verb.
struct EvaluateImagesGiven {
  std::string model, path, out, device;
  bool overwrite = false, json = false;
  ImagesGiven images;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> samples;
  std::string test_features, drawn_features, prd;
};
void add_evaluate_images_options(CLI::App& verb, EvaluateImagesGiven& given);
/// InputError for an option of `evaluate` that has no effect on images.
/// @param images  that are scored
void check_evaluate_images_options(const CLI::App& verb,
                                   const EvaluateImagesGiven& given,
                                   const std::string& images);
void evaluate_images(const EvaluateImagesGiven& given, Console& console);

/// sample, as typed; what tables have too is filled in by the verb.
struct SampleImagesGiven {
  std::string model, known, out;
  bool overwrite = false;
  std::optional<std::int64_t> count;
  std::vector<double> parameter;
  std::uint64_t seed = 0;
  ImagesGiven images;
  std::string sheet, device = "cpu";
  double temperature = 1;
};
void add_sample_images_options(CLI::App& verb, SampleImagesGiven& given);
/// InputError for an option of `sample` that has no effect on images.
/// @param known  images that were given
void check_sample_images_options(const CLI::App& verb, const SampleImagesGiven& given,
                                 const std::string& known);
void sample_images(const SampleImagesGiven& given, Console& console);

/// @param model  file  @param run  folder or file
void inspect_images(const std::string& model, const std::string& run, bool as_json);

}  // namespace kinflow::cli
