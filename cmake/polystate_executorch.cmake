# Finds ExecuTorch's wheel through Python_EXECUTABLE or, without Python, executorch_DIR.
option(POLYSTATE_EXECUTORCH "Build the engine of ExecuTorch, a part of libpolystate" ON)
set(POLYSTATE_EXECUTORCH_LIBRARIES) # the folder of the wheel's libraries
if(NOT POLYSTATE_EXECUTORCH)
  return()
endif()

polystate_find_python_package(executorch executorch_package)
# Its C++ interface changes with every version.
find_package(executorch 1.5.1 EXACT CONFIG HINTS ${executorch_package}/lib/cmake/executorch)
if(NOT executorch_FOUND)
  message(
    FATAL_ERROR
    "ExecuTorch 1.5.1 was not found: Python_EXECUTABLE is '${Python_EXECUTABLE}'. Run `make setup`, "
    "or set Python_EXECUTABLE to an interpreter that has the package executorch==1.5.1, or "
    "executorch_DIR to the folder executorch/lib/cmake/executorch of that package, or "
    "POLYSTATE_EXECUTORCH to OFF, for a build whose only engine is AOTInductor's."
  )
endif()

# The imported targets bring run paths of their own as link options, the wheel's absolute folder
# among them: for a wheel of ours that is the folder of a build environment, which is gone later.
# CMake sets run paths itself (polystate_install.cmake).
set(
  components
  runtime
  kernels_optimized
  backend_xnnpack
  threadpool
  etdump
)
foreach(component IN LISTS components)
  get_target_property(link_options executorch::${component} INTERFACE_LINK_OPTIONS)
  list(FILTER link_options EXCLUDE REGEX "-rpath")
  set_target_properties(
    executorch::${component}
    PROPERTIES INTERFACE_LINK_OPTIONS "${link_options}"
  )
endforeach()
set(POLYSTATE_EXECUTORCH_LIBRARIES $<PATH:NORMAL_PATH,$<TARGET_FILE_DIR:executorch::runtime>>)
