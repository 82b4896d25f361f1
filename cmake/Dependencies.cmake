# Finds the libraries that kinflow stands on and says what to install where one is missing.

macro(kinflow_need package hint)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "kinflow needs ${package}: ${hint} (or run 'make setup')")
  endif()
endmacro()

find_package(Threads REQUIRED)
kinflow_need(fmt "apt install libfmt-dev")
kinflow_need(nlohmann_json "apt install nlohmann-json3-dev")
kinflow_need(ZLIB "apt install zlib1g-dev")
kinflow_need(PNG "apt install libpng-dev")
kinflow_need(JPEG "apt install libjpeg-dev")

# OpenBLAS by name: Debian's reference BLAS is many times slower.
find_library(KINFLOW_OPENBLAS_LIBRARY openblas
             PATH_SUFFIXES openblas-pthread openblas openblas-openmp)
find_path(KINFLOW_CBLAS_INCLUDE cblas.h
          PATH_SUFFIXES openblas x86_64-linux-gnu aarch64-linux-gnu
                        x86_64-linux-gnu/openblas-pthread)
find_path(KINFLOW_LAPACKE_INCLUDE lapacke.h PATH_SUFFIXES openblas lapacke)
find_library(KINFLOW_LAPACKE_LIBRARY lapacke)
if(NOT KINFLOW_OPENBLAS_LIBRARY OR NOT KINFLOW_CBLAS_INCLUDE OR NOT KINFLOW_LAPACKE_INCLUDE
   OR NOT KINFLOW_LAPACKE_LIBRARY)
  message(FATAL_ERROR "kinflow needs OpenBLAS and LAPACKE: "
                      "apt install libopenblas-dev liblapacke-dev (or run 'make setup')")
endif()
add_library(kinflow_openblas INTERFACE)
target_include_directories(
  kinflow_openblas SYSTEM INTERFACE $<BUILD_INTERFACE:${KINFLOW_CBLAS_INCLUDE}>
                                    $<BUILD_INTERFACE:${KINFLOW_LAPACKE_INCLUDE}>)
target_link_libraries(kinflow_openblas INTERFACE ${KINFLOW_LAPACKE_LIBRARY}
                                                 ${KINFLOW_OPENBLAS_LIBRARY})

# Arrays on a GPU are LibTorch's, of a Python installation.
if(KINFLOW_WITH_CUDA)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE KINFLOW_TORCH_PREFIX
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE KINFLOW_TORCH_RESULT)
  if(NOT KINFLOW_TORCH_RESULT EQUAL 0)
    message(FATAL_ERROR "KINFLOW_WITH_CUDA is on, but ${Python3_EXECUTABLE} "
                        "cannot import torch")
  endif()
  list(PREPEND CMAKE_PREFIX_PATH ${KINFLOW_TORCH_PREFIX})
  kinflow_need(Torch "pip install torch")
  # It has headers of another fmt than the system's library.
  set(KINFLOW_FMT fmt::fmt-header-only)
else()
  set(KINFLOW_FMT fmt::fmt)
endif()
kinflow_need(CLI11 "apt install libcli11-dev")
if(KINFLOW_TESTS AND NOT KINFLOW_FUZZ)
  kinflow_need(GTest "apt install libgtest-dev")
endif()
