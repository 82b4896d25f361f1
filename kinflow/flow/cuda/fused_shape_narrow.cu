// Instances of the fused kernels for NarrowShape.
#include "kinflow/flow/cuda/fused_kernels.cuh"

namespace kinflow {

template struct FusedLaunches<NarrowShape>;

}  // namespace kinflow
