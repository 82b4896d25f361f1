// Instances of the fused kernels for RegularShape.
#include "kinflow/flow/cuda/fused_kernels.cuh"

namespace kinflow {

template struct FusedLaunches<RegularShape>;

}  // namespace kinflow
