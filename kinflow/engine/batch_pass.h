// The flow's part of a training step for all replicas: latents of a batch, and the
// gradient in the weights once the dependence has said what the latents should do.
#pragma once

#include <memory>

#include "kinflow/array/array.h"
#include "kinflow/engine/options.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

class BatchPass {
 public:
  virtual ~BatchPass() = default;
  /// Latents [R, b, p] and log-determinants [R, b] of some rows of the training data,
  /// without gradients. @param rows [b] int64
  virtual LatentResult to_latent(const Array& rows) = 0;
  /// Gradient [R, P] in the flow's values of
  ///     sum of latents * latent_slopes + log_abs_det_slope * sum of log_abs_det
  /// of the rows of the last to_latent(). @param latent_slopes [R, b, p]
  virtual Array gradient(const Array& latent_slopes, double log_abs_det_slope) = 0;
  /// As BatchEstimator::is_repeatable().
  virtual bool is_repeatable() const { return false; }
};

/// `flow` must outlive the pass.
/// @param data [n, p]  @param context [n, c] or undefined
std::unique_ptr<BatchPass> make_batch_pass(const Flow& flow, const Array& data,
                                           const Array& context, Engine engine);

}  // namespace kinflow
