// Trainings of flows of faces that differ in what they know of the people.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "studies/experiments.h"
#include "studies/face_data.h"
#include "studies/image_method_score.h"
#include "studies/study_folder.h"

namespace kinflow {

/// A way of training: "baseline", "grid-RHO" with one value, "joint" with a correlation
/// for each person, or "joint-per-latent" with one for each channel of a scale.
struct FaceMethod {
  std::string name;
  Schedule schedule = Schedule::baseline;
  double start = 0.1;  ///< of the correlations; a grid's value
  BlockCorrelation correlation = BlockCorrelation::per_block;  ///< of "joint"

  /// "baseline", "grid, rho 0.05", "joint", "joint, per latent"
  std::string title() const;
};

/// The methods of these names; of the study where there are none. InputError for other
/// names.
std::vector<FaceMethod> face_methods(const std::vector<std::string>& names);

/// Trainings and scores in the folder of a study, for any seeds: a seed decides the
/// split of the people, the trainings and the draws. Each training is a run folder,
/// trainings/NAME-SEED, that goes on after it was stopped.
class FaceStudy {
 public:
  /// Reads the faces and opens the folder; all input is checked before.
  FaceStudy(const ExperimentOptions& options, const FaceSource& source, Logger& logger);

  /// The score of a method, which is trained where none is known. Interrupted where the
  /// user stops it.
  ImageMethodScore run(const FaceMethod& method, std::uint64_t seed);
  /// The score that is known already.
  std::optional<ImageMethodScore> find(const FaceMethod& method,
                                       std::uint64_t seed) const;

  const ImageSet& images() const { return faces_.set; }
  FaceData split(std::uint64_t seed) const { return split_faces(faces_.set, seed); }
  /// Of each training: as many as a baseline's speed lets into the time. Measured by
  /// the first call that asks, and kept.
  std::int64_t epochs();
  double seconds() const { return folder_->seconds(); }

 private:
  [[noreturn]] void stop() const;
  ImageFitRequest request_for(const FaceMethod& method, std::uint64_t seed) const;
  ImageModel train(const FaceMethod& method, std::uint64_t seed,
                   const ImageFitData& data);

  const ExperimentOptions& options_;
  const FaceSource& source_;
  Logger& logger_;
  nd::Device device_;
  Faces faces_;
  GlowOptions flow_;
  std::unique_ptr<StudyFolder> folder_;
  std::optional<std::int64_t> epochs_;
};

}  // namespace kinflow
