// Threads of OpenBLAS, where the caller shares out the work itself.
#pragma once

namespace kinflow {

/// While it lives, OpenBLAS computes in the thread that calls it, so that several may.
/// One at a time; not while another thread is in BLAS.
class BlasInCallingThread {
 public:
  BlasInCallingThread();
  ~BlasInCallingThread();
  BlasInCallingThread(const BlasInCallingThread&) = delete;
  BlasInCallingThread& operator=(const BlasInCallingThread&) = delete;

 private:
  int threads_before_;
};

}  // namespace kinflow
