// One epoch of many replicas in one CUDA launch, for rows that are independent or in
// blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/flow/flow_plan.h"

namespace kinflow {

/// How rows depend, as the kernels need it; the numbers are those of Blocks. No rows:
/// they are independent.
struct EpochBlocks {
  std::vector<std::int64_t> block_of_row;        ///< [n]
  std::vector<std::int64_t> sizes;               ///< [B]
  std::vector<std::int64_t> parameter_of_block;  ///< [B], -1 without one
  std::int64_t parameters = 0;                   ///< k
};

/// What all replicas of a training share.
struct EpochSetup {
  FlowPlan plan;
  std::int64_t rows = 0;  ///< n
  EpochBlocks blocks = {};
  std::vector<std::int64_t> batch_bounds = {};  ///< from 0 to n, increasing
};

/// State and settings of R replicas in device memory; [R] unless said otherwise. Blocks
/// that need no dependence may leave its pointers null.
struct EpochReplicas {
  std::int64_t count = 0;             ///< R
  const bool* active = nullptr;       ///< null: all; others are left as they are
  float* values = nullptr;            ///< [R, P]
  float* first_moment = nullptr;      ///< [R, P]
  float* infinity_norm = nullptr;     ///< [R, P]
  std::int64_t* steps = nullptr;      ///< taken so far
  const float* decay_mask = nullptr;  ///< [P], 1 where weight decay applies
  const float* learning_rate = nullptr;
  const float* weight_decay = nullptr;
  /// Whether the replica remembers latents: the dependence parameters then follow these
  /// and not the batch's pairs. Null: no replica does.
  const bool* has_memory = nullptr;
  /// Share of memory in the flow's gradient: 0 pairs, 1 memory. Where there is one.
  const double* memory_share = nullptr;
  const bool* moves_dependence = nullptr;    ///< schedule joint
  const double* dependence_rate = nullptr;   ///< multiple of the learning rate
  const double* prior = nullptr;             ///< weight of the Beta(2, 2) prior
  double* unconstrained = nullptr;           ///< [R, k]
  double* dependence_moment = nullptr;       ///< [R, k]
  double* dependence_norm = nullptr;         ///< [R, k]
  std::int64_t* dependence_steps = nullptr;  ///< taken so far
  float* memory = nullptr;      ///< [R, n, p] last known latents; see has_memory
  double* train_nll = nullptr;  ///< result, without the normal density's constant
  std::int64_t* skipped =
      nullptr;  ///< steps with gradients that are not finite, added to
};

/// Rows and their order in an epoch, in device memory.
struct EpochRows {
  const float* data = nullptr;          ///< [n, p]
  const float* context = nullptr;       ///< [n, c]; null without
  const std::int64_t* order = nullptr;  ///< [n]
  const float* rate_factor = nullptr;   ///< [batches], on the learning rates
};

/// Trains replicas as Trainer::run_epoch does. One thread block trains one replica;
/// what it computes does not depend on the others, bit for bit, and no sum is taken in
/// an order that could change from run to run.
class EpochCuda {
 public:
  /// Whether the flow fits (FusedFlowCuda::fits).
  static bool fits(const EpochSetup& setup);
  explicit EpochCuda(EpochSetup setup);
  ~EpochCuda();
  EpochCuda(const EpochCuda&) = delete;
  EpochCuda& operator=(const EpochCuda&) = delete;

  /// Queues one epoch on a stream (a cudaStream_t). One call at a time: calls share
  /// workspaces.
  void run(const EpochRows& rows, const EpochReplicas& replicas, void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kinflow
