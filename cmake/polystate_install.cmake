# Where programs and the Python extension go, and how they find the engines' libraries there, which
# are never copied: two copies in one process register every kernel twice and abort.
#
# `cmake --install` puts the command into bin/, with the folders that it was linked from as its run
# path. The Python package (SKBUILD) has the command in <environment>/bin and the extension in
# <site-packages>/polystate, beside <site-packages>/executorch.

# The target `polystate_installed` builds all that is installed, for tests that install a build.
function(polystate_build_for_install)
  if(NOT TARGET polystate_installed)
    add_custom_target(polystate_installed)
  endif()
  add_dependencies(polystate_installed ${ARGN})
endfunction()

function(polystate_install_command target)
  polystate_build_for_install(${target})
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
  polystate_build_for_install(${target})
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

# What comes with code of others that is a part of our libraries and programs: the given files, or
# those of cmake/licences/<name>.
function(polystate_install_licences name)
  set(files ${ARGN})
  if(NOT files)
    file(GLOB files ${PROJECT_SOURCE_DIR}/cmake/licences/${name}/*)
  endif()
  if(SKBUILD)
    install(FILES ${files} DESTINATION polystate/licences/${name} COMPONENT python)
  else()
    install(FILES ${files} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${name})
  endif()
endfunction()

# Those of all that is built. The wheel has our own beside its metadata.
function(polystate_install_all_licences)
  if(NOT SKBUILD)
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
  polystate_install_licences(nlohmann_json)
  if(POLYSTATE_TEXT_ONLY)
    return()
  endif()
  if(POLYSTATE_EXECUTORCH)
    polystate_install_licences(eigen)
  endif()
  if(POLYSTATE_GRAMMAR)
    polystate_install_licences(xgrammar ${POLYSTATE_XGRAMMAR}/LICENSE ${POLYSTATE_XGRAMMAR}/NOTICE)
    polystate_install_licences(picojson)
  endif()
  if(POLYSTATE_BUILD_CLI)
    polystate_install_licences(CLI11)
  endif()
  if(POLYSTATE_BUILD_PYTHON)
    polystate_install_licences(pybind11)
  endif()
endfunction()

# The CMake package. polystate::text is a set of targets of its own, so that a project that wants
# only tokenizers needs no ExecuTorch.
function(polystate_install_package)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/polystate)
  if(POLYSTATE_TEXT_ONLY)
    set(headers core chat_template tokenizer)
    list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/polystate/)
    install(DIRECTORY ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/polystate)
  else()
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
  set(text_targets polystate_core polystate_chat_template polystate_text)
  polystate_build_for_install(${text_targets})
  install(TARGETS ${text_targets} EXPORT polystateTextTargets)
  install(EXPORT polystateTextTargets NAMESPACE polystate:: DESTINATION ${package_folder})
  polystate_install_all_licences()
  if(TARGET polystate)
    polystate_build_for_install(polystate)
    install(TARGETS polystate EXPORT polystateTargets)
    install(EXPORT polystateTargets NAMESPACE polystate:: DESTINATION ${package_folder})
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
      ${PROJECT_SOURCE_DIR}/cmake/polystate_text_libraries.cmake
    DESTINATION ${package_folder}
  )
endfunction()
