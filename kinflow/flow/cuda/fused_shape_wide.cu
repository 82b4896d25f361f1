// Instances of the fused kernels for WideShape.
#include "kinflow/flow/cuda/fused_kernels.cuh"

namespace kinflow {

template struct FusedLaunches<WideShape>;

}  // namespace kinflow
