# Fused CUDA kernels: the library kinflow_cuda in a build for GPUs, and a check that they
# compile wherever there is a CUDA compiler.
set(KINFLOW_CUDA_SOURCES
    kinflow/flow/cuda/device_flow.cu
    kinflow/flow/cuda/fused_cuda.cu
    kinflow/flow/cuda/fused_shape_common.cu
    kinflow/flow/cuda/fused_shape_narrow.cu
    kinflow/flow/cuda/fused_shape_regular.cu
    kinflow/flow/cuda/fused_shape_wide.cu
    kinflow/flow/glow/glow_kernels_cuda.cu
    kinflow/engine/cuda/epoch_cuda.cu
    kinflow/engine/cuda/epoch_shape_common.cu
    kinflow/engine/cuda/epoch_shape_narrow.cu
    kinflow/engine/cuda/epoch_shape_regular.cu
    kinflow/engine/cuda/epoch_shape_wide.cu
    kinflow/engine/images/image_kernels_cuda.cu
    kinflow/engine/cuda/row_order_cuda.cu)

set(KINFLOW_CUDA_ARCHITECTURES 90 CACHE STRING "GPUs for which kernels are compiled")

include(CheckLanguage)
check_language(CUDA)
# Which backend is linked decides whether there are kernels.
if(KINFLOW_WITH_CUDA)
  if(NOT CMAKE_CUDA_COMPILER OR NOT TARGET torch_cuda)
    message(FATAL_ERROR "KINFLOW_WITH_CUDA is on, but there is no CUDA compiler, or "
                        "Python's torch knows no CUDA")
  endif()
  target_sources(kinflow PRIVATE kinflow/flow/cuda/cuda_backend.cpp kinflow/engine/cuda/cuda_backend.cpp
                                 kinflow/engine/cuda/recorded_pass.cpp)
  target_precompile_headers(kinflow PRIVATE <ATen/ATen.h>)
  target_include_directories(kinflow SYSTEM PUBLIC $<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>)
  # stdc++ stands before LibTorch, which exports its own, incomplete copies of
  # std::filesystem functions.
  target_link_libraries(kinflow PUBLIC stdc++ ${TORCH_LIBRARIES})
else()
  target_sources(kinflow PRIVATE kinflow/flow/cuda/no_cuda_backend.cpp
                                 kinflow/engine/cuda/no_cuda_backend.cpp)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  return()
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${KINFLOW_CUDA_ARCHITECTURES})
endif()
enable_language(CUDA)
# CMake before 3.26 does not know that nvcc takes C++20.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# LibTorch adds the architectures of the GPUs it sees; ours are a property of the target.
string(REGEX REPLACE "-gencode[ =]arch=[^ ]+" "" CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")
if(KINFLOW_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${KINFLOW_CCACHE})
endif()

function(kinflow_configure_cuda target)
  set_target_properties(
    ${target} PROPERTIES CUDA_ARCHITECTURES "${KINFLOW_CUDA_ARCHITECTURES}"
                         CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
                         CUDA_RUNTIME_LIBRARY Static POSITION_INDEPENDENT_CODE ON)
  # Kernels are not for a debugger's build: -O3 for the device is nvcc's default.
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

if(KINFLOW_WITH_CUDA)
  add_library(kinflow_cuda STATIC ${KINFLOW_CUDA_SOURCES})
  kinflow_configure_cuda(kinflow_cuda)
  target_link_libraries(kinflow PUBLIC kinflow_cuda)
  target_compile_definitions(kinflow PUBLIC KINFLOW_CUDA)
else()
  add_library(kinflow_cuda_objects OBJECT EXCLUDE_FROM_ALL ${KINFLOW_CUDA_SOURCES})
  kinflow_configure_cuda(kinflow_cuda_objects)
endif()
