// Instances of the fused kernels for RegularShape.
#include "kinflow/flow/fused_kernels.cuh"

namespace kinflow {

template struct FusedLaunches<RegularShape>;

}  // namespace kinflow
