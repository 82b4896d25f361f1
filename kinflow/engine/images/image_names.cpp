// Names of enumerations, and options of image flows as JSON.
#include "kinflow/engine/images/image_names.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"

namespace kinflow {
namespace {

// Numbers beyond these are refused before anything is computed from them; glow_scales()
// knows the narrower ranges.
constexpr std::int64_t kMany = 100'000;

}  // namespace

const Names<GlowPreset>& glow_preset_names() {
  static const Names<GlowPreset> names = {{"paper", GlowPreset::paper},
                                          {"light", GlowPreset::light}};
  return names;
}

const Names<ImagePrecision>& image_precision_names() {
  static const Names<ImagePrecision> names = {{"float32", ImagePrecision::float32},
                                              {"mixed", ImagePrecision::mixed}};
  return names;
}

const Names<BlockCorrelation>& image_correlation_names() {
  static const Names<BlockCorrelation> names = {
      {"shared", BlockCorrelation::shared},
      {"per-block", BlockCorrelation::per_block},
      {"per-latent", BlockCorrelation::per_latent}};
  return names;
}

BlockCorrelation image_correlation(const std::string& name) {
  for (const auto& [known, correlation] : image_correlation_names()) {
    if (known == name) return correlation;
  }
  throw InputError(
      fmt::format("--correlation: expected shared, per-block or per-latent for images, "
                  "found {}",
                  name));
}

nlohmann::json to_json(const GlowOptions& options) {
  return {{"channels", options.channels},
          {"height", options.height},
          {"width", options.width},
          {"scales", options.scales},
          {"steps", options.steps},
          {"kept_quarters", options.kept_quarters},
          {"activation_norm", options.activation_norm},
          {"dense_channels", options.dense_channels},
          {"dense_layers", options.dense_layers},
          {"dense_growth", options.dense_growth}};
}

GlowOptions glow_options_from(const JsonReader& json) {
  const auto count = [&](const std::string& key) {
    return json.integer(key, 1, kMany);
  };
  return {.channels = count("channels"),
          .height = count("height"),
          .width = count("width"),
          .scales = count("scales"),
          .steps = count("steps"),
          .kept_quarters = count("kept_quarters"),
          .activation_norm = json.boolean("activation_norm"),
          .dense_channels = count("dense_channels"),
          .dense_layers = count("dense_layers"),
          .dense_growth = count("dense_growth")};
}

nlohmann::json to_json(const ImageTrainOptions& options) {
  return {{"schedule", name_of(schedule_names(), options.schedule)},
          {"estimator", name_of(estimator_names(), options.estimator)},
          {"correlation", name_of(image_correlation_names(), options.correlation)},
          {"epochs", options.epochs},
          {"batch_size", options.batch_size},
          {"learning_rate", options.learning_rate},
          {"weight_decay", options.weight_decay},
          {"clip", options.clip},
          {"start", options.start},
          {"dependence_rate", options.dependence_rate},
          {"prior", options.prior},
          {"mirror", options.mirror},
          {"seed", options.seed},
          {"precision", name_of(image_precision_names(), options.precision)},
          {"recompute", options.recompute}};
}

ImageTrainOptions image_train_options_from(const JsonReader& json) {
  return {.schedule = json.one_of("schedule", schedule_names()),
          .estimator = json.one_of("estimator", estimator_names()),
          // Runs of earlier versions had one for each person only.
          .correlation = json.json().contains("correlation")
                             ? json.one_of("correlation", image_correlation_names())
                             : BlockCorrelation::per_block,
          .epochs = json.integer("epochs", 1, kManySteps),
          .batch_size = json.integer("batch_size", 2, kManySteps),
          .learning_rate = json.number("learning_rate", 0, kLargestRate),
          .weight_decay = json.number("weight_decay", 0, kLargestRate),
          .clip = json.number("clip", kSmallestClip, kLargestRate),
          .start = json.number("start", kSmallestParameter, kLargestParameter),
          .dependence_rate = json.number("dependence_rate", 0, kLargestRate),
          .prior = json.number("prior", 0, kLargestRate),
          .mirror = json.boolean("mirror"),
          .seed = json.seed("seed"),
          .precision = json.one_of("precision", image_precision_names()),
          .recompute = json.boolean("recompute")};
}

}  // namespace kinflow
