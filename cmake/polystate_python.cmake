# Python_EXECUTABLE: the interpreter whose packages the engines are found in, by default that of
# .venv.
if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()

# Sets `folder` to that of the package `name`, or to nothing.
function(polystate_find_python_package name folder)
  set(found)
  if(Python_EXECUTABLE)
    execute_process(
      COMMAND
        ${Python_EXECUTABLE} -c
        "import importlib.util as u; print(*u.find_spec('${name}').submodule_search_locations)"
      OUTPUT_VARIABLE found
      OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_QUIET
    )
  endif()
  set(${folder} ${found} PARENT_SCOPE)
endfunction()
