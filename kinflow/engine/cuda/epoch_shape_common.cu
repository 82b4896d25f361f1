// Instance of the kernel of an epoch for CommonShape.
#include "kinflow/engine/cuda/epoch_kernel.cuh"

namespace kinflow {

template struct EpochLaunch<CommonShape>;

}  // namespace kinflow
