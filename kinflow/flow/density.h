// The density of single rows under a flow with a standard normal base.
#pragma once

#include <ATen/core/Tensor.h>

#include "kinflow/flow/flow.h"

namespace kinflow {

/// log of the standard normal density of every row: [..., p] -> [...].
at::Tensor standard_normal_log_density(const at::Tensor& latents);

/// Log-density of every row by itself, [R, n], without gradients.
/// @param data     [n, p], the same rows for every replica
/// @param context  [n, c] or undefined
at::Tensor row_log_density(const Flow& flow, const at::Tensor& data,
                           const at::Tensor& context);

/// Latents and log-determinants of all rows, [R, n, p] and [R, n], without gradients.
LatentResult all_latents(const Flow& flow, const at::Tensor& data,
                         const at::Tensor& context);

/// The data of latents of all rows: [R, n, p] from [R, n, p], without gradients.
at::Tensor all_data(const Flow& flow, const at::Tensor& latents,
                    const at::Tensor& context);

}  // namespace kinflow
