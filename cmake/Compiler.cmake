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
  # Clones in different folders share what is cached.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${KINFLOW_CCACHE})
endif()

# One code model for libraries and programs, so that they can share a precompiled header.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fPIC>)

if(KINFLOW_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "The fuzz targets need clang: apt install clang libclang-rt-dev, "
                        "then configure with the preset fuzz")
  endif()
  set(KINFLOW_SANITIZE fuzzer-no-link,address,undefined,float-cast-overflow)
endif()
if(KINFLOW_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${KINFLOW_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>"
  )
  add_link_options(-fsanitize=${KINFLOW_SANITIZE})
  # With the sanitizers' checks in between, GCC sees numbers without a value in its <regex>.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
endif()

function(kinflow_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  # GCC 12 sees overlapping copies in "text" + std::string.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(KINFLOW_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# Compiles the sources of a folder together, a few at a time: most of a file's time goes into
# the headers that it shares with its neighbours. Sources with definitions of their own, and
# those named after ALONE, are compiled by themselves. GROUP_SIZE is 8 where it is not given.
function(kinflow_group_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "GROUP_SIZE" "ALONE")
  if(NOT given_GROUP_SIZE)
    set(given_GROUP_SIZE 8)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "^[^$]*\\.cpp$")
      continue()
    endif()
    get_filename_component(name ${source} NAME_WE)
    if(name IN_LIST given_ALONE)
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND sources_of_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    set(index 0)
    foreach(source IN LISTS sources_of_${folder})
      math(EXPR group "${index} / ${given_GROUP_SIZE}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${group}")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
