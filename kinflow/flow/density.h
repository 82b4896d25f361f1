// The density of single rows under a flow with a standard normal base.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

/// log of the standard normal density of every row: [..., p] -> [...].
Array standard_normal_log_density(const Array& latents);

/// Log-density of every row by itself, [R, n], without gradients.
/// @param data     [n, p], the same rows for every replica
/// @param context  [n, c] or undefined
Array row_log_density(const Flow& flow, const Array& data, const Array& context);

/// Latents and log-determinants of all rows, [R, n, p] and [R, n], without gradients.
LatentResult all_latents(const Flow& flow, const Array& data, const Array& context);

/// The data of latents of all rows: [R, n, p] from [R, n, p], without gradients.
Array all_data(const Flow& flow, const Array& latents, const Array& context);

}  // namespace kinflow
