// The paper's protocol, and kinflow's own ways of training, as lists of runs.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/study.h"

namespace kinflow {

/// What the methods of one data set have in common.
struct MethodSettings {
  DependenceRequest dependence;
  std::uint64_t seed = 0;
  std::string device = "cpu";
  std::int64_t threads = 1;
  /// Fewer learning rates, weight decays and starts.
  bool quick = false;
  bool one_table = false;             ///< only methods without a validation table
  double quick_learning_rate = 0.01;  ///< the one that is left
  FlowOptions flow = {};
  /// Of the splines in the paper's methods, which see the data as they are.
  std::optional<double> paper_bound = {};
};

namespace method_name {
inline constexpr const char* kBaseline = "baseline";
inline constexpr const char* kGrid = "grid (pairs)";
inline constexpr const char* kGridCalibrated = "grid (pairs), then calibrated";
inline constexpr const char* kJoint = "joint (pairs)";
inline constexpr const char* kAlternating = "alternating (pairs)";
inline constexpr const char* kOneMemory = "one training (memory)";
inline constexpr const char* kOneHybrid = "one training (hybrid)";
inline constexpr const char* kUncalibrated = "default, not calibrated";
inline constexpr const char* kHeldOut = "one table, one part held out";
inline constexpr const char* kCrossFitted = "one table, cross-fitted";
inline constexpr const char* kOrdinary = "one table, ordinary flow";
inline constexpr const char* kIndependentRows = "default, independent";
inline constexpr const char* kDefault = "default";
inline constexpr const char* kEnsemble = "default, mixture of 4";
}  // namespace method_name

/// Of the paper: a sweep of learning rates and weight decays, 100 epochs, neither
/// standardised nor calibrated. Appendix B.
Method paper_baseline(const MethodSettings& settings);
Method paper_grid(const MethodSettings& settings);
Method paper_joint(const MethodSettings& settings);
/// Five times 25 epochs, with the most likely lambda in between.
Method paper_alternating(const MethodSettings& settings);

/// `kinflow fit` with its defaults and an estimator: one replica.
Method one_training(const MethodSettings& settings, Estimator estimator);
/// `kinflow fit` with its defaults, and `--ensemble 4`.
Method default_fit(const MethodSettings& settings);
/// The same with `--no-calibrate`.
Method uncalibrated_fit(const MethodSettings& settings);
/// `--independent` with the same validation table.
Method independent_fit(const MethodSettings& settings);

/// `kinflow fit` without a validation table: cross-fitted, with `--folds 1`, and with
/// `--independent`, whose folds are single rows.
Method cross_fit(const MethodSettings& settings);
Method held_out_fit(const MethodSettings& settings);
Method ordinary_fit(const MethodSettings& settings);

}  // namespace kinflow
