// Instance of the kernel of an epoch for NarrowShape.
#include "kinflow/engine/cuda/epoch_kernel.cuh"

namespace kinflow {

template struct EpochLaunch<NarrowShape>;

}  // namespace kinflow
