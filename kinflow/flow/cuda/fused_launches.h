// What the kernels of FusedFlowCuda take, and their launches for each Shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kinflow/flow/cuda/device_flow.h"

namespace kinflow {

/// Rows of one launch; a block takes one chunk of one replica.
struct MapArguments {
  const float* in;
  std::int64_t in_replica;  ///< numbers between two replicas' rows; 0: shared
  const float* context;
  const float* values;
  float* out;
  float* log_abs_det;
  float* density;
  std::int64_t count;
  int chunk_rows, chunks;
};

/// A batch of one launch; a block takes one replica.
struct BatchArguments {
  const float* data;
  const float* context;
  const std::int64_t* index;
  const float* values;
  float* layers;  ///< [R, couplings + 1, b, p]: inputs of every layer, latents last
  float4* stash;  ///< [R, ..]
  std::int64_t stash_replica;
  float* image;  ///< [R, ..], of gradients
  float* latents;
  float* log_abs_det;
  float* grad_latents;
  float grad_log_abs_det;
  float* gradient;
  int count;
};

/// The grid of a launch; stream is a cudaStream_t.
struct LaunchPlace {
  std::int64_t blocks;
  int threads;
  std::size_t shared_bytes;
  void* stream;
};

/// Instances are in fused_shape_*.cu.
template <typename S>
struct FusedLaunches {
  static void to_latent(const LaunchPlace& place, const DeviceFlow& flow,
                        const MapArguments& arguments);
  static void from_latent(const LaunchPlace& place, const DeviceFlow& flow,
                          const MapArguments& arguments);
  static void batch_to_latent(const LaunchPlace& place, const DeviceFlow& flow,
                              const BatchArguments& arguments);
  static void backward(const LaunchPlace& place, const DeviceFlow& flow,
                       const BatchArguments& arguments);
};

}  // namespace kinflow
