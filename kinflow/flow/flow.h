// A normalizing flow: invertible layers in a row, many replicas at once, with all their
// parameters in one buffer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
       at::ScalarType type = at::kFloat, at::Device device = at::kCPU);

  const FlowOptions& options() const { return options_; }
  std::int64_t replicas() const { return values_.size(0); }

  LatentResult to_latent(const at::Tensor& data, const at::Tensor& context = {}) const;
  at::Tensor from_latent(const at::Tensor& latents,
                         const at::Tensor& context = {}) const;

  at::Tensor& values() { return values_; }
  const at::Tensor& values() const { return values_; }
  /// Lets the last linear map of every replica be that of latent_map_factors().
  /// @param map [p, p], of a flow that has one
  void start_latent_map(const at::Tensor& map);
  /// 1 where weight decay applies and 0 elsewhere, [1, P].
  const at::Tensor& decay_mask() const { return decay_mask_; }
  /// Gradient of a scalar in values(), [R, P]; the scalar comes from to_latent() of
  /// this flow, with gradients recorded.
  at::Tensor gradient_of(const at::Tensor& scalar) const;

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
  at::Tensor values_, decay_mask_;
  std::vector<at::Tensor> leaves_;  // the layers' views, in the order of slots_
};

}  // namespace kinflow
