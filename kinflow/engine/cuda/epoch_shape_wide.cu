// Instance of the kernel of an epoch for WideShape.
#include "kinflow/engine/cuda/epoch_kernel.cuh"

namespace kinflow {

template struct EpochLaunch<WideShape>;

}  // namespace kinflow
