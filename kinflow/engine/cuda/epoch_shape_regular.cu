// Instance of the kernel of an epoch for RegularShape.
#include "kinflow/engine/cuda/epoch_kernel.cuh"

namespace kinflow {

template struct EpochLaunch<RegularShape>;

}  // namespace kinflow
