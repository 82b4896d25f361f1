// Marks functions that are compiled for a CPU and, by nvcc, for a GPU.
#pragma once

#ifdef __CUDACC__
#define KINFLOW_EVERYWHERE __host__ __device__
#else
#define KINFLOW_EVERYWHERE
#endif
