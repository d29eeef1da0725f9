# Where programs and the Python extension go, and how they find the engines' libraries there, which
# are never copied: two copies in one process register every kernel twice and abort.
#
# `cmake --install` puts the command into bin/, with the folders that it was linked from as its run
# path. The Python package (SKBUILD) has the command in <environment>/bin and the extension in
# <site-packages>/polystate, beside <site-packages>/executorch.

function(polystate_install_command target)
  if(SKBUILD)
    execute_process(
      COMMAND
        ${Python_EXECUTABLE} -c
        [[
import os, sysconfig
print(os.path.relpath(sysconfig.get_path("platlib"), sysconfig.get_path("scripts")))
]]
      OUTPUT_VARIABLE site_packages
      OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY
    )
    set_target_properties(
      ${target}
      PROPERTIES
        INSTALL_RPATH "$ORIGIN/${site_packages}/executorch/lib;$ORIGIN/${site_packages}/polystate"
    )
    install(TARGETS ${target} RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
  else()
    file(RELATIVE_PATH libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(
      ${target}
      PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries};${POLYSTATE_EXECUTORCH_LIBRARIES}"
    )
    install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

function(polystate_install_extension target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../executorch/lib;$ORIGIN")
  if(SKBUILD)
    install(TARGETS ${target} LIBRARY DESTINATION polystate COMPONENT python)
  endif()
endfunction()

# A library that programs load by its name.
function(polystate_install_component target)
  if(SKBUILD)
    set_target_properties(
      ${target}
      PROPERTIES INSTALL_RPATH "$ORIGIN/../torch/lib;$ORIGIN/../executorch/lib"
    )
    install(TARGETS ${target} LIBRARY DESTINATION polystate COMPONENT python)
  else()
    cmake_path(GET POLYSTATE_TORCH_CPU PARENT_PATH torch_libraries)
    set_target_properties(
      ${target}
      PROPERTIES INSTALL_RPATH "${torch_libraries};${POLYSTATE_EXECUTORCH_LIBRARIES}"
    )
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

# What comes with code of others that is a part of our libraries.
function(polystate_install_licences name)
  if(SKBUILD)
    install(FILES ${ARGN} DESTINATION polystate/licences/${name} COMPONENT python)
  else()
    install(FILES ${ARGN} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${name})
  endif()
endfunction()

# The CMake package. polystate::text is a set of targets of its own, so that a project that wants
# only tokenizers needs no ExecuTorch.
function(polystate_install_package)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/polystate)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS polystate_core polystate_chat_template polystate_text EXPORT polystateTextTargets)
  install(EXPORT polystateTextTargets NAMESPACE polystate:: DESTINATION ${package_folder})
  if(POLYSTATE_EXECUTORCH)
    set(eigen ${PROJECT_SOURCE_DIR}/cmake/licences/eigen)
    polystate_install_licences(eigen ${eigen}/LICENSE ${eigen}/NOTICE)
  endif()
  if(TARGET polystate)
    install(TARGETS polystate EXPORT polystateTargets)
    install(EXPORT polystateTargets NAMESPACE polystate:: DESTINATION ${package_folder})
  endif()
  if(POLYSTATE_GRAMMAR)
    polystate_install_licences(xgrammar ${POLYSTATE_XGRAMMAR}/LICENSE ${POLYSTATE_XGRAMMAR}/NOTICE)
  endif()
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/polystateConfig.cmake.in
    ${PROJECT_BINARY_DIR}/polystateConfig.cmake
    INSTALL_DESTINATION ${package_folder}
  )
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/polystateConfigVersion.cmake
    COMPATIBILITY SameMinorVersion
  )
  install(
    FILES
      ${PROJECT_BINARY_DIR}/polystateConfig.cmake
      ${PROJECT_BINARY_DIR}/polystateConfigVersion.cmake
    DESTINATION ${package_folder}
  )
endfunction()
