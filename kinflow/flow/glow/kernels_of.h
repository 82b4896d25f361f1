// Tensors as the matrices of the Glow kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include "kinflow/flow/glow/glow_kernels.h"

namespace kinflow {

/// The kernels for tensors on a device.
const GlowKernels& glow_kernels_of(at::Device device);
/// A tensor [rows, columns] or [columns] whose columns lie side by side.
MatrixView view_of(const at::Tensor& tensor);

}  // namespace kinflow
