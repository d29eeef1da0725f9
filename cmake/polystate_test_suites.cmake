# polystate_register_suites(program) registers each suite of a program of googletest's as a test:
# under AddressSanitizer a process takes longer to begin and to end than most tests take.
function(polystate_register_suites program)
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  set(register ${PROJECT_SOURCE_DIR}/cmake/register_suites.cmake)
  file(
    GENERATE OUTPUT ${suites}
    CONTENT "set(PROGRAM [[$<TARGET_FILE:${program}>]])\ninclude([[${register}]])\n"
  )
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
