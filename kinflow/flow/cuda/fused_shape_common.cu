// Instances of the fused kernels for CommonShape.
#include "kinflow/flow/cuda/fused_kernels.cuh"

namespace kinflow {

template struct FusedLaunches<CommonShape>;

}  // namespace kinflow
