# Artifacts that tests open. `polystate_use_fixtures(target)` exports them before `target` is built
# and defines POLYSTATE_FIXTURES, their folder, in it.
set(
  POLYSTATE_FIXTURES
  ${PROJECT_BINARY_DIR}/fixtures
  CACHE PATH
  "Folder of the exported test artifacts"
)

file(
  GLOB_RECURSE exporter_sources
  CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/python/polystate/*.py
  ${PROJECT_SOURCE_DIR}/tests/fixtures/*.py
)
add_custom_command(
  OUTPUT ${POLYSTATE_FIXTURES}/.complete
  COMMAND
    ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/python ${Python_EXECUTABLE}
    ${PROJECT_SOURCE_DIR}/tests/fixtures/export.py ${POLYSTATE_FIXTURES}
  COMMAND ${CMAKE_COMMAND} -E touch ${POLYSTATE_FIXTURES}/.complete
  DEPENDS ${exporter_sources}
  COMMENT "Exporting the test artifacts"
  VERBATIM
)
add_custom_target(fixtures DEPENDS ${POLYSTATE_FIXTURES}/.complete)

function(polystate_use_fixtures target)
  target_compile_definitions(${target} PRIVATE POLYSTATE_FIXTURES="${POLYSTATE_FIXTURES}")
  add_dependencies(${target} fixtures)
endfunction()
