# Artifacts that tests open. `polystate_use_fixtures(target)` exports them before `target` is built.
set(
  POLYSTATE_FIXTURES
  ${PROJECT_BINARY_DIR}/fixtures
  CACHE PATH
  "Folder of the exported test artifacts"
)

# Runs at each build, and does nothing where what the artifacts are made from is unchanged.
add_custom_target(
  fixtures
  COMMAND
    ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/python:${PROJECT_SOURCE_DIR}
    ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/fixtures/export.py ${POLYSTATE_FIXTURES}
  COMMENT "Exporting the test artifacts, if they have changed"
  VERBATIM
)

function(polystate_use_fixtures target)
  target_link_libraries(${target} PRIVATE polystate_test_files)
  add_dependencies(${target} fixtures)
endfunction()
