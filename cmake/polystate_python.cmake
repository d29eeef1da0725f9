# The interpreter whose environment holds ExecuTorch: Python_EXECUTABLE, else the one in .venv. Sets POLYSTATE_EXECUTORCH_HINT to
# the folder of ExecuTorch's CMake package there; a user without Python sets executorch_DIR instead.
if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()

if(Python_EXECUTABLE AND NOT executorch_DIR)
  execute_process(
    COMMAND
      ${Python_EXECUTABLE} -c
      "import importlib.util; print(importlib.util.find_spec('executorch').submodule_search_locations[0])"
    OUTPUT_VARIABLE executorch_package
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE executorch_missing
    ERROR_QUIET
  )
  if(NOT executorch_missing)
    set(POLYSTATE_EXECUTORCH_HINT ${executorch_package}/share/cmake)
  endif()
endif()
