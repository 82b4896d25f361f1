# The CPU kernels, compiled once for each instruction set; kinflow picks one when it runs
# (kinflow/core/instruction_set.h).
function(kinflow_kernels_for_set library set vector_bytes sources)
  set(kernels ${library}_kernels_${set})
  add_library(${kernels} OBJECT ${sources})
  kinflow_configure(${kernels})
  # Kernels are products above all: -O3 in every build but a debugger's. No result depends
  # on errno or floating-point traps.
  target_compile_options(${kernels} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-math-errno
                                            -fno-trapping-math -ffp-contract=fast
                                            -Wno-psabi ${ARGN})
  target_compile_definitions(${kernels} PRIVATE KINFLOW_KERNELS=${set}
                                                KINFLOW_VECTOR_BYTES=${vector_bytes})
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:${kernels}>)
endfunction()

# Adds kernels to a library for every instruction set. The sources after CHOOSE pick among
# them.
function(kinflow_kernels library)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" "SOURCES;CHOOSE")
  kinflow_kernels_for_set(${library} portable 16 "${given_SOURCES}")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    kinflow_kernels_for_set(${library} avx2 32 "${given_SOURCES}" -mavx2 -mfma)
    kinflow_kernels_for_set(
      ${library} avx512 64 "${given_SOURCES}" -mavx512f -mavx512dq -mavx512vl -mavx512bw
      -mfma -mprefer-vector-width=512)
    set_source_files_properties(${given_CHOOSE} PROPERTIES COMPILE_DEFINITIONS
                                                           KINFLOW_X86_KERNELS)
  endif()
endfunction()
