// Options of verbs that take images as well as tables.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fit_options.h"
#include "kinflow/fit/images/image_fit.h"
#include "kinflow/model/model_kind.h"

namespace kinflow::cli {

/// The groups in which --help shows the options of one kind of model alone.
inline constexpr const char* kTableOptions = "Tables";
inline constexpr const char* kImageOptions = "Images";

/// Every option so far, but positional ones, help and those named, is for tables.
void mark_table_options(CLI::App& verb, const std::set<std::string>& shared);
/// InputError where an option for the other kind was given.
void check_options_for(const CLI::App& verb, ModelKind kind);

/// Checks the options of a verb against its model and calls one of two with the file of
/// the model.
/// @param run  run folder or model file
void call_by_model_kind(
    const CLI::App& verb, const std::string& run,
    const std::function<void(const std::string& model)>& for_table,
    const std::function<void(const std::string& model)>& for_images);

/// InputError for a picture that is not named .png, cannot be written, would overwrite
/// an input, or is there already and not to be overwritten. An empty path is none.
/// @param option  that names it
void check_picture(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& option, bool overwrite);

/// Which images to read and how, as typed.
struct ImagesGiven {
  ImageRequest request;
  std::optional<std::string> size;
  bool grey = false, rgb = false;

  /// The request for images at a path. What was not given is as in `prepare`.
  ImageRequest resolve(const std::string& path, const PrepareOptions& prepare) const;
};
void add_images_options(CLI::App& verb, ImagesGiven& given);
/// InputError for one that was given and has no effect.
/// @param path  of the images
void check_images_options(const CLI::App& verb, const ImagesGiven& given,
                          const std::string& path);

/// What was typed of a fit of images, beside the options that tables have too.
struct ImageFitGiven {
  bool images = false, group_by_folder = false;
  ImagesGiven data;
  std::string valid_ids, preset = "light";
  std::optional<std::int64_t> bits, scales, steps, dense_channels, dense_layers,
      dense_growth;
  std::optional<double> clip, minutes;
  bool no_activation_norm = false, recompute = false, mirror = false;
  std::int64_t valid_every = 0;

  /// The request. InputError for choices that exclude each other.
  /// @param shared  what was typed of the options for tables and images
  ImageFitRequest resolve(const CLI::App& verb, const FitGiven& shared) const;
};

/// Adds them to the options of a fit of tables, and widens those that both have.
void add_image_fit_options(CLI::App& verb, FitGiven& shared, ImageFitGiven& given);

}  // namespace kinflow::cli
