// OpenBLAS has one number of threads for the whole process.
#include "kinflow/core/blas_threads.h"

#include <cblas.h>

namespace kinflow {

BlasInCallingThread::BlasInCallingThread()
    : threads_before_(openblas_get_num_threads()) {
  openblas_set_num_threads(1);
}

BlasInCallingThread::~BlasInCallingThread() {
  openblas_set_num_threads(threads_before_);
}

}  // namespace kinflow
