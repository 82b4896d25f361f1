// The trainings of one fit of images, one after another, and the best state of all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/engine/valid_score.h"
#include "kinflow/fit/images/image_data.h"
#include "kinflow/fit/images/image_fit.h"
#include "kinflow/model/images/image_model.h"

namespace kinflow {

/// One epoch of one training.
struct ImageEpoch {
  std::int64_t replica = 0;  ///< number of the training
  std::int64_t epoch = 0;    ///< from 1
  double train_nll_nats = 0;
  double valid_nll_nats = 0;  ///< ImageRun::valid_score(); NaN without a validation
  double typical_parameter = 0;
  double gradient_norm = 0;        ///< of the last step
  std::int64_t skipped_steps = 0;  ///< since the beginning of the training
};

/// The best state by validation; its record says when it was.
struct BestImageModel {
  ImageModel model;
  std::int64_t replica = 0;
  std::int64_t epoch = 0;
  double valid_nll_nats = 0;
};

/// A schedule `grid` has a training for each of its values, all others have one. Knows
/// nothing of run folders. The same numbers come out when it goes on from state() in
/// another process.
class ImageRun {
 public:
  /// @param data  must outlive this object
  ImageRun(const ImageFitRequest& request, const ImageFitData& data, nd::Device device);
  ~ImageRun();

  std::int64_t replicas() const { return static_cast<std::int64_t>(starts_.size()); }
  std::int64_t steps_done() const;
  std::int64_t total_steps() const;  ///< of all trainings
  std::int64_t parameter_count() const;
  std::int64_t valid_every() const { return valid_every_; }
  /// What the NLLs of validations are: where people were held out, an image counts for
  /// what it is worth beside the others of its person.
  ValidScore valid_score() const;
  bool is_finished() const { return replica_ == replicas(); }
  /// Whether state() can be taken.
  bool is_between_epochs() const { return epoch_steps_ == 0; }

  /// Trains a few steps; at the end of an epoch adds to the history, validates when it
  /// is time to and goes over to the next training. One that diverges ends: of a grid
  /// with a warning, and what it had reached counts; else, and where no training of a
  /// grid reached anything, with a NumericalError.
  void advance();

  const std::vector<ImageEpoch>& history() const { return history_; }
  /// Mean NLL of the steps of the last advance().
  double last_train_nll() const { return last_train_nll_; }
  /// What a user should know since the last call.
  std::vector<std::string> take_warnings();
  /// Steps with gradients that were not finite, of all trainings.
  std::int64_t skipped_steps() const;

  const std::optional<BestImageModel>& best() const { return best_; }
  /// Writes the best state so far, where it is new since the last call.
  void save_best(const std::string& path);

  NamedTensors state() const;
  /// @param best_path  what save_best() wrote before the state was taken
  void restore(const NamedTensors& state, const std::string& source,
               const std::string& best_path);

 private:
  void begin_training();
  void end_epoch(const ImageProgress& progress);
  void end_training();
  void keep_if_best(const ImageEpoch& epoch);
  double valid_nll() const;
  /// Empty where a training can go on.
  std::string why_diverged(const ImageEpoch& epoch) const;
  LearnedDependence learned() const;

  const ImageFitRequest request_;
  const ImageFitData& data_;
  nd::Device device_;
  GlowOptions flow_;
  ImageRows train_, valid_;
  Array valid_others_;          // [n] images of the same person beside each
  std::vector<double> starts_;  // of the trainings
  std::int64_t valid_every_ = 1;
  std::unique_ptr<ImageTrainer> trainer_;  // null when all are finished
  std::int64_t replica_ = 0;
  std::int64_t epoch_steps_ = 0;  // of the unfinished epoch
  std::int64_t epoch_taken_ = 0;  // of those, not skipped
  double epoch_nll_ = 0;          // sum over these
  double last_train_nll_ = 0;
  std::vector<ImageEpoch> history_;
  std::vector<std::string> warnings_;
  std::string last_failure_;
  std::optional<BestImageModel> best_;
  bool best_is_saved_ = true;
};

/// The flow of a request for images of a shape.
GlowOptions flow_for(const ImageFitRequest& request, const ImageSet& images);

/// Epochs of each training of a request with `minutes`: at most as many as it has, and
/// at least 1.
std::int64_t epochs_in_time(const ImageFitRequest& request, const ImageFitData& data,
                            nd::Device device);

}  // namespace kinflow
