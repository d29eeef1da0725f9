# Finds ExecuTorch's wheel through Python_EXECUTABLE (default: the interpreter in .venv) or, without
# Python, executorch_DIR.
if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()

if(Python_EXECUTABLE)
  execute_process(
    COMMAND
      ${Python_EXECUTABLE} -c
      "import importlib.util as u; print(*u.find_spec('executorch').submodule_search_locations)"
    OUTPUT_VARIABLE executorch_package
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE executorch_missing
    ERROR_QUIET
  )
  if(NOT executorch_missing)
    set(executorch_hint ${executorch_package}/lib/cmake/executorch)
  endif()
endif()
find_package(executorch 1.5 CONFIG HINTS ${executorch_hint})
if(NOT executorch_FOUND)
  message(
    FATAL_ERROR
    "ExecuTorch 1.5 was not found: Python_EXECUTABLE is '${Python_EXECUTABLE}'. Run `make setup`, "
    "or set Python_EXECUTABLE to an interpreter that has the package executorch==1.5.1, or "
    "executorch_DIR to the folder executorch/lib/cmake/executorch of that package."
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
