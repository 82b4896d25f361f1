# Installs the tool, the libraries and what find_package(kinflow) needs.
include(CMakePackageConfigHelpers)

set(KINFLOW_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kinflow)
install(TARGETS kinflow_cli kinflow_reproduce_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(
  TARGETS kinflow kinflow_pages kinflow_genetics kinflow_images kinflow_report kinflow_data kinflow_openblas
  EXPORT kinflowTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET kinflow_cuda)
  install(TARGETS kinflow_cuda EXPORT kinflowTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
include(cmake/PublicHeaders.cmake)
foreach(header IN LISTS KINFLOW_PUBLIC_HEADERS)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(
  EXPORT kinflowTargets
  NAMESPACE kinflow::
  DESTINATION ${KINFLOW_CMAKE_DIR})
configure_package_config_file(cmake/kinflowConfig.cmake.in kinflowConfig.cmake
                              INSTALL_DESTINATION ${KINFLOW_CMAKE_DIR})
write_basic_package_version_file(kinflowConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kinflowConfig.cmake
              ${PROJECT_BINARY_DIR}/kinflowConfigVersion.cmake
        DESTINATION ${KINFLOW_CMAKE_DIR})
