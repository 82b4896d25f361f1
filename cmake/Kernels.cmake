# The CPU kernels, compiled once for each instruction set; kinflow picks one when it runs
# (kinflow/core/instruction_set.h).
function(kinflow_kernels set vector_bytes)
  add_library(kinflow_kernels_${set} OBJECT kinflow/flow/kernels/flow_kernels.cpp
                                           kinflow/dependence/kernels/row_products.cpp)
  kinflow_configure(kinflow_kernels_${set})
  # Kernels are products above all: -O3 in every build but a debugger's. No result depends
  # on errno or floating-point traps.
  target_compile_options(
    kinflow_kernels_${set} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-math-errno
                                   -fno-trapping-math -ffp-contract=fast -Wno-psabi ${ARGN})
  target_compile_definitions(kinflow_kernels_${set} PRIVATE KINFLOW_KERNELS=${set}
                                                            KINFLOW_VECTOR_BYTES=${vector_bytes})
  target_sources(kinflow PRIVATE $<TARGET_OBJECTS:kinflow_kernels_${set}>)
endfunction()

kinflow_kernels(portable 16)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  kinflow_kernels(avx2 32 -mavx2 -mfma)
  kinflow_kernels(avx512 64 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma
                  -mprefer-vector-width=512)
  set_source_files_properties(kinflow/core/instruction_set.cpp kinflow/flow/fused_flow.cpp
                              kinflow/dependence/row_matrix.cpp
                              PROPERTIES COMPILE_DEFINITIONS KINFLOW_X86_KERNELS)
endif()
# They need no LibTorch.
set_source_files_properties(
  kinflow/core/instruction_set.cpp kinflow/flow/fused_flow.cpp kinflow/dependence/row_matrix.cpp
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
