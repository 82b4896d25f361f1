// The options of image flows as they stand in files and on the command line.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/engine/names.h"
#include "kinflow/flow/glow/glow_options.h"

namespace kinflow {

const Names<GlowPreset>& glow_preset_names();
const Names<ImagePrecision>& image_precision_names();
/// The correlations that image flows can have.
const Names<BlockCorrelation>& image_correlation_names();
/// The value of a name; InputError for that of another correlation.
BlockCorrelation image_correlation(const std::string& name);

nlohmann::json to_json(const GlowOptions& options);
nlohmann::json to_json(const ImageTrainOptions& options);
/// Reads what to_json wrote and checks every range; InputError where one is off.
GlowOptions glow_options_from(const JsonReader& json);
ImageTrainOptions image_train_options_from(const JsonReader& json);

}  // namespace kinflow
