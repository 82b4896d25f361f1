// A flow in fused CUDA kernels: one thread block takes a replica's rows through all
// layers without an array in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kinflow/flow/flow_plan.h"

namespace kinflow {

/// Maps rows of float32 numbers with the values of R replicas, all in device memory.
/// Results of a replica do not depend on the others, bit for bit. Calls queue work on a
/// stream (a cudaStream_t) and return; std::runtime_error where CUDA refuses.
class FusedFlowCuda {
 public:
  /// Whether kernels exist for the plan: hidden layers of at most 128 columns, at most
  /// 43 bins, and layers that fit into a block's shared memory. Needs no device.
  static bool fits(const FlowPlan& plan);

  explicit FusedFlowCuda(const FlowPlan& plan);
  ~FusedFlowCuda();
  FusedFlowCuda(const FusedFlowCuda&) = delete;
  FusedFlowCuda& operator=(const FusedFlowCuda&) = delete;

  /// Rows that all replicas share.
  struct Rows {
    std::int64_t count = 0;          ///< n
    const float* data = nullptr;     ///< [n, p]
    const float* context = nullptr;  ///< [n, c]; null without context
  };

  /// @param values       [R, P]
  /// @param latents      [R, n, p], or null
  /// @param log_abs_det  [R, n], or null
  void to_latent(const Rows& rows, std::int64_t replicas, const float* values,
                 float* latents, float* log_abs_det, void* stream) const;

  /// Log-density of every row by itself under a standard normal base, [R, n].
  void log_density(const Rows& rows, std::int64_t replicas, const float* values,
                   float* density, void* stream) const;

  /// @param context  [n, c], shared by the replicas; null without
  /// @param latents  [R, n, p]  @param data  [R, n, p], may be `latents`
  void from_latent(std::int64_t count, const float* latents, const float* context,
                   std::int64_t replicas, const float* values, float* data,
                   void* stream) const;

  /// A batch of rows given by their indices.
  struct Batch {
    std::int64_t count = 0;               ///< b
    const std::int64_t* index = nullptr;  ///< [b], into `rows`
    Rows rows;
  };
  /// Bytes that to_latent() of a batch needs to keep what backward() reads.
  std::size_t workspace_bytes(std::int64_t count, std::int64_t replicas) const;
  /// @param latents [R, b, p]  @param log_abs_det [R, b]
  /// @param workspace  16-byte aligned
  void to_latent(const Batch& batch, std::int64_t replicas, const float* values,
                 float* latents, float* log_abs_det, void* workspace,
                 void* stream) const;
  /// The gradient of a loss in the values, [R, P], after to_latent() of the same batch.
  /// @param grad_latents  [R, b, p], dLoss / dlatents; overwritten
  /// @param grad_log_abs_det  dLoss / dlog_abs_det, the same for every row
  void backward(const Batch& batch, std::int64_t replicas, const float* values,
                float* grad_latents, float grad_log_abs_det, const void* workspace,
                float* gradient, void* stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Means over the rows of [R, n] float32 numbers, as float64: [R]. Sums in an order
/// that depends on n alone.
void mean_of_rows(const float* numbers, std::int64_t replicas, std::int64_t count,
                  double* means, void* stream);

/// Whether the GPU in use is one that the kernels are compiled for (compute
/// capability 9.0 or more).
bool cuda_kernels_run();
/// Bytes of the GPU's memory that are free.
double free_cuda_bytes();
/// As its maker calls it.
std::string cuda_device_name();

}  // namespace kinflow
