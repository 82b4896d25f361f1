// What the GPU at hand can do at most.
#pragma once

namespace kinflow {

struct CudaCeilings {
  double float32_flops = 0;      ///< multiplications and additions a second
  double tensor_core_flops = 0;  ///< of tf32 products by mma.sync
  double copy_bytes = 0;         ///< read and written a second by a large copy
};

CudaCeilings measure_ceilings();

}  // namespace kinflow
