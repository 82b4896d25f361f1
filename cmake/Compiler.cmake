# Warnings, sanitizers, ccache, and what every target of the project shares.
include(GNUInstallDirs)

find_package(Git QUIET)
set(KINFLOW_COMMIT unknown)
if(Git_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} describe --always --dirty
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE KINFLOW_DESCRIBED
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(KINFLOW_DESCRIBED)
    set(KINFLOW_COMMIT ${KINFLOW_DESCRIBED})
  endif()
endif()

find_program(KINFLOW_CCACHE ccache)
if(KINFLOW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need these two to be cacheable.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${KINFLOW_CCACHE})
endif()

# One code model for libraries and programs, so that they can share a precompiled header.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fPIC>)

if(KINFLOW_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer>"
  )
  add_link_options(-fsanitize=address,undefined)
endif()

function(kinflow_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  if(KINFLOW_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
