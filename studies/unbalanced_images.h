// Flows of simulated images of people, a few of whom have most of the images, beside
// the law of one image of everybody, which is known.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/images/simulate_images.h"
#include "studies/image_method_score.h"

namespace kinflow {

/// All that decides a seed's result.
struct UnbalancedSetting {
  SimulateImagesOptions images;
  GlowOptions flow;
  ImageTrainOptions train;  ///< but the schedule
};
UnbalancedSetting unbalanced_setting(std::uint64_t seed, bool quick);

namespace unbalanced_method {
inline constexpr const char* kBaseline = "baseline";
inline constexpr const char* kAdjusted = "adjusted";
// Images that no model has drawn: those of the training set, and further ones of the
// balanced law.
inline constexpr const char* kTraining = "training images";
inline constexpr const char* kTruth = "balanced images";
}  // namespace unbalanced_method

/// An epoch of a training.
struct UnbalancedEpoch {
  std::int64_t epoch = 0;  ///< from 1
  double train_nll_nats = 0, valid_nll_nats = 0, mean_correlation = 0;
};

struct UnbalancedSeed {
  std::int64_t people = 0;
  std::int64_t largest = 0;  ///< images of the person with most
  /// Both methods, and, without likelihoods, the training images and others of the
  /// balanced law. Distances are from balanced images.
  std::vector<ImageMethodScore> scores = {};
  std::vector<UnbalancedEpoch> baseline_epochs = {}, adjusted_epochs = {};

  const ImageMethodScore& score_of(const std::string& method) const;
};

nlohmann::json to_json(const UnbalancedSeed& seed);
/// Reads what to_json wrote. @param source  stands for the file in messages
UnbalancedSeed unbalanced_seed_from(const nlohmann::json& json,
                                    const std::string& source);

/// Simulates, trains both methods with as many steps, takes of each the epoch that
/// validates best, and scores it. Computes in the calling thread. Interrupted where
/// `stop` becomes true between two epochs.
UnbalancedSeed run_unbalanced_seed(const UnbalancedSetting& setting,
                                   const std::atomic<bool>* stop);

/// The tables of a report.
std::string unbalanced_tables(const std::vector<UnbalancedSeed>& seeds,
                              const UnbalancedSetting& setting);

}  // namespace kinflow
