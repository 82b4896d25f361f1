// A whole fit of a flow to images: data, trainings with checkpoints, and the finished
// run folder.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/images/image_data.h"
#include "kinflow/images/image_request.h"
#include "kinflow/model/images/image_model.h"

namespace kinflow {

/// Everything that decides the result of a fit.
struct ImageFitRequest {
  ImageRequest data;
  /// Validation images, prepared as the others; without a path a part of the people is
  /// held out.
  ImageRequest valid = {};
  double valid_fraction = 0.15;  ///< of the images
  /// Epochs between two validations. 0: so many that validation takes less than a tenth
  /// of the time.
  std::int64_t valid_every = 0;
  GlowOptions flow = {};  ///< channels, height and width are taken from the data
  ImageTrainOptions train = {};
  /// Not given: mixed on a GPU, float32 on a CPU.
  std::optional<ImagePrecision> precision = {};
  /// Correlations that schedule `grid` trains with, one after another.
  std::vector<double> grid = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15};
  /// Of all trainings together: fewer epochs are trained where train.epochs would take
  /// longer, by the speed of the first steps.
  std::optional<double> minutes = {};
  std::string device = "cpu";
  std::int64_t threads = 1;
};

/// Of ImageFitRequest::minutes.
inline constexpr double kFewestMinutes = 1e-3, kMostMinutes = 1e6;

nlohmann::json to_json(const ImageFitRequest& request);
/// Reads what to_json wrote; `source` stands for the file in messages.
ImageFitRequest image_fit_request_from(const nlohmann::json& json,
                                       const std::string& source);

/// The request with a precision. A second call changes nothing. Throws InputError for
/// choices that exclude each other and for values outside their ranges.
ImageFitRequest with_defaults(ImageFitRequest request);

struct ImageFitResult {
  ImageModel model;
  std::int64_t epochs = 0;                    ///< of one training
  std::int64_t best_epoch = 0;                ///< of the training that was chosen
  double valid_nll_nats = 0;                  ///< of single images
  ValidScore valid_score = ValidScore::rows;  ///< how they count
  double valid_bits_per_dimension = 0;
  std::int64_t skipped_steps = 0;  ///< of all trainings
  double seconds = 0;              ///< of this call
};

/// Seconds between two checkpoints, which are large.
inline constexpr double kImageCheckpointSeconds = 120;

/// Fits a model and leaves run.json, metrics.csv and model.safetensors in the run
/// folder. All input is read and checked before the folder is made. A run that was
/// killed goes on with `resume` and ends in the same numbers. When `place.stop` becomes
/// true the epoch is finished, a checkpoint is written and Interrupted is thrown.
/// NumericalError where the training, or all of a grid, diverges; best.safetensors is
/// then what it had reached.
ImageFitResult fit_images(const ImageFitRequest& request, const FitPlace& place,
                          Logger& logger);

/// The same with images that are in memory, in place of those that the request names.
/// Such a run can only be resumed by this function.
ImageFitResult fit_images(const ImageFitRequest& request, const ImageFitData& data,
                          const FitPlace& place, Logger& logger);

/// Whether a run folder holds a fit of images.
bool is_image_run(const std::string& directory);
/// The request of such a run, to be resumed.
ImageFitRequest read_image_run_request(const std::string& directory);

}  // namespace kinflow
