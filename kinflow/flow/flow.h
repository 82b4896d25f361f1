// A normalizing flow: invertible layers in a row, many replicas at once, with all their
// parameters in one buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/flow_options.h"
#include "kinflow/flow/flow_plan.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// Maps data [R, b, p] to latents and back. Each replica has its own parameters; all
/// share the architecture.
///
/// Parameters live in one buffer `values()` [R, P] of which the layers hold views. So
/// an optimiser is a few operations on one matrix, whatever the architecture.
class Flow {
 public:
  /// @param seeds  of the initial weights, one per replica; R is their number
  Flow(const FlowOptions& options, const std::vector<std::uint64_t>& seeds,
       nd::ScalarType type = nd::kFloat, nd::Device device = nd::kCPU);

  const FlowOptions& options() const { return options_; }
  std::int64_t replicas() const { return values_.size(0); }

  LatentResult to_latent(const Array& data, const Array& context = {}) const;
  Array from_latent(const Array& latents, const Array& context = {}) const;

  Array& values() { return values_; }
  const Array& values() const { return values_; }
  /// Lets the last linear map of every replica be that of latent_map_factors().
  /// @param map [p, p], of a flow that has one
  void start_latent_map(const Array& map);
  /// 1 where weight decay applies and 0 elsewhere, [1, P].
  const Array& decay_mask() const { return decay_mask_; }
  /// The parts of values() that the layers have as their parameters, in the order of
  /// slots().
  const std::vector<Array>& views() const { return views_; }

  /// Name, shape without the replica axis, and place in the buffer, in a fixed order.
  struct Slot {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t offset;
    std::int64_t count;
  };
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  FlowOptions options_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<Slot> slots_;
  Array values_, decay_mask_;
  std::vector<Array> views_;
};

}  // namespace kinflow
