// How a flow is trained: schedule, gradient estimator, optimiser and stopping.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// Learning rates and weight decays beyond this overflow float32 sooner or later.
inline constexpr double kLargestRate = 1e6;

enum class Schedule {
  baseline,    ///< rows taken as independent
  grid,        ///< one flow per value of the dependence parameter, best by validation
  joint,       ///< flow and dependence parameters together
  alternating  ///< epochs of the flow, and the most likely parameters, in turn
};

enum class Estimator {
  pairs,   ///< the pairs of rows inside a batch; unbiased, noisy
  memory,  ///< the last known latents of all rows; quiet, at most two epochs stale
  hybrid   ///< a mixture of both for the flow, memory for the dependence parameters
};

/// How steps are computed: whole epochs of a replica by fused kernels where there are
/// any for the device and the structure, or step by step with the parts from which
/// every structure is made, which the former are tested against.
enum class Engine { fused, steps };

/// Ranges of the options below.
inline constexpr std::int64_t kManySteps = 1'000'000'000;
inline constexpr double kSmallestParameter = 1e-6;  ///< of start and grid
inline constexpr double kLargestParameter = 1 - 1e-6;

/// What the replicas of a fit have in common. The defaults of the members are those for
/// blocks; default_train_options() in fit.h knows others.
struct SharedTrainOptions {
  Schedule schedule = Schedule::joint;
  Estimator estimator = Estimator::memory;
  std::int64_t epochs = 100;
  std::int64_t batch_size = 256;
  std::int64_t patience =
      30;                  ///< epochs without a better validation NLL before stopping
  std::uint64_t seed = 0;  ///< of the initial weights and the order of rows

  /// Learning rate of the dependence parameters as a multiple of the flow's, in a fit
  /// of its first replica's. Their exact gradient bears a large one, and a rho that
  /// lags behind inflates the latents.
  double dependence_rate = 10;
  /// Every dependence parameter has a Beta(1 + prior, 1 + prior) prior; 0: none.
  double prior = 1;
  /// Values of the dependence parameter that schedule `grid` tries.
  std::vector<double> grid = {};
  /// Schedule `alternating`: epochs of the flow between two stages of the parameters.
  std::int64_t stage_epochs = 25;
};

/// What a replica has of its own.
struct OwnTrainOptions {
  double learning_rate = 0.01;
  /// Coupled, on the flow alone, the first layers of its networks excepted.
  double weight_decay = 0.001;
  /// Share of memory in the flow's gradient of the hybrid estimator.
  double memory_share = 0.25;
  /// Start of every dependence parameter, in (0, 1).
  double start = 0.3;
};

/// Of one replica.
struct TrainOptions : SharedTrainOptions, OwnTrainOptions {};

inline constexpr std::int64_t kDefaultReplicas = 8;
inline constexpr std::int64_t kVariedReplicas = 16;  ///< where flows differ in kind
inline constexpr std::int64_t kMostReplicas = 100'000;

/// The replicas of one fit, of which validation chooses, and the values from which
/// plan_replicas() in fit.h gives each its OwnTrainOptions. Each has its own initial
/// weights. They take the values below in turn, the learning rates first, or before
/// these the kinds of flows. A list that
/// is empty gets its defaults from with_defaults().
struct ReplicaOptions {
  /// With schedule `grid` the number for each value. 0: kDefaultReplicas or
  /// kVariedReplicas, one with a grid.
  std::int64_t count = 0;
  std::vector<double> learning_rates = {};  ///< 0.01 and 0.03
  /// Memory: 0.001 and 0.01, others 0.001.
  std::vector<double> weight_decays = {};
  /// Of the hybrid estimator: 0.25 and 0.
  std::vector<double> memory_shares = {};
  /// Of the dependence parameters: 0.3 for blocks, else 0.5.
  std::vector<double> starts = {};
};

}  // namespace kinflow
