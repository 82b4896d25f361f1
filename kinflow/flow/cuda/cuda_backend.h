// Latents and densities of many rows on a GPU by fused kernels, where the build has
// them.
#pragma once

#include <optional>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

/// As their namesakes in density.h, for arrays on a GPU. Nothing where this build has
/// no CUDA kernels, or none for the flow's shape and type.
std::optional<LatentResult> latents_by_cuda(const Flow& flow, const Array& data,
                                            const Array& context);
std::optional<Array> row_log_density_by_cuda(const Flow& flow, const Array& data,
                                             const Array& context);
std::optional<Array> data_by_cuda(const Flow& flow, const Array& latents,
                                  const Array& context);

/// Bytes of the GPU's memory that are free; nothing where this build has no CUDA
/// kernels.
std::optional<double> free_device_memory();
/// The GPU's name; nothing as above.
std::optional<std::string> device_name();

}  // namespace kinflow
