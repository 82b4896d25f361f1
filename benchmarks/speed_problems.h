// The flows, data and trainings that measurements of speed have in common.
#pragma once

#include <cstdint>
#include <memory>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/engine/trainer.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

inline constexpr std::int64_t kBatchRows = 256;
inline constexpr std::int64_t kEpochBatches = 40;
inline constexpr std::int64_t kEpochRows = kBatchRows * kEpochBatches;

/// A spline flow in the plane, and a deep affine one of 30 columns.
FlowOptions small_spline_flow();
FlowOptions deep_affine_flow();

/// An epoch's rows, simulated as the paper does it, standardised.
struct PlaneRows {
  Array rows;    ///< [kEpochRows, 2] float32
  Array blocks;  ///< [kEpochRows] int64, the block of each row
};
PlaneRows plane_training_rows();
/// Independent rows of the same shape, [count, 2] float32, standardised.
Array plane_rows(std::int64_t count);
/// Rows whose every column depends on the one before, [count, columns] float32,
/// standardised.
Array chained_rows(std::int64_t count, std::int64_t columns);

/// Independent standard normal numbers, [rows, columns].
Array standard_normal_rows(std::int64_t rows, std::int64_t columns, nd::ScalarType type,
                           Random& random);

enum class RowsAre { independent, in_blocks };

/// A trainer of one replica, with all that it refers to. It never ends, its learning
/// rate does not fall, and its validation costs next to nothing.
class EndlessTraining {
 public:
  /// @param rows_are  in_blocks needs the spline flow, whose rows have blocks
  explicit EndlessTraining(const FlowOptions& options, RowsAre rows_are);

  void run_epoch() { trainer_->run_epoch(); }
  const Flow& flow() const { return *flow_; }
  /// [kEpochRows, p]
  const Array& rows() const { return rows_; }

 private:
  Array rows_;
  std::unique_ptr<Flow> flow_;
  std::unique_ptr<Dependence> law_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace kinflow
