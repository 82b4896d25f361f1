// Arrays as the matrices of the Glow kernels.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/glow_kernels.h"

namespace kinflow {

/// The kernels for arrays on a device.
const GlowKernels& glow_kernels_of(nd::Device device);
/// An array [rows, columns] or [columns] whose columns lie side by side.
MatrixView view_of(const Array& tensor);

}  // namespace kinflow
