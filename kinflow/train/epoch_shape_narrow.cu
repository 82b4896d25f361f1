// Instance of the kernel of an epoch for NarrowShape.
#include "kinflow/train/epoch_kernel.cuh"

namespace kinflow {

template struct EpochLaunch<NarrowShape>;

}  // namespace kinflow
