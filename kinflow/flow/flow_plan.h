// A flow's layers as plain numbers: which columns each maps and where its weights are.
// Fused kernels work from this description; they need no arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/flow/flow_options.h"

namespace kinflow {

/// A linear layer of a conditioner: outputs = inputs * weight + bias. Offsets are into
/// the P values of one replica; the weight is [inputs, outputs] row-major.
struct LinearPlan {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t weight = 0;
  std::int64_t bias = 0;
};

/// A coupling layer and, in affine flows, the ActNorm after it.
struct CouplingPlan {
  std::vector<std::int64_t> unchanged;  ///< data columns that steer, in this order
  std::vector<std::int64_t> mapped;     ///< data columns that are mapped, in this order
  /// The conditioner. Its inputs are the unchanged columns and then the context; with
  /// none of these it is one layer of no inputs, a learned bias.
  std::vector<LinearPlan> linears;
  std::int64_t log_scale = -1;  ///< ActNorm, [p] each; -1 without
  std::int64_t shift = -1;
};

struct FlowPlan {
  FlowKind kind = FlowKind::spline;
  std::int64_t dimension = 0;
  std::int64_t context = 0;
  std::int64_t bins = 0;
  double bound = 0;
  std::int64_t parameters_per_column =
      0;                        ///< outputs of a conditioner per mapped column
  std::int64_t parameters = 0;  ///< P
  /// The last linear map, [p, p] with L below the diagonal, U above it, and the
  /// logarithms of U's diagonal on it; -1 without.
  std::int64_t latent_map = -1;
  std::vector<CouplingPlan> couplings;
};

/// @param options  with a dimension of at least 1
FlowPlan make_plan(const FlowOptions& options);

/// Number of learned values of one replica, as a double so that it cannot overflow,
/// whatever the options.
double parameter_count(const FlowOptions& options);

}  // namespace kinflow
