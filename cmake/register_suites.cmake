# Registers the suites of PROGRAM, which it is asked for, as tests. ctest reads this as it begins.
cmake_path(GET PROGRAM FILENAME name)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  add_test(${name}/lists_its_tests ${PROGRAM} --gtest_list_tests)
  return()
endif()
# A suite has a line that begins with its name and a full stop; the lines of tests are indented.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.[ \n]" suites "${listed}")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[. \n]" "" suite "${suite}")
  add_test(${name}/${suite} ${PROGRAM} --gtest_filter=${suite}.*)
  set_tests_properties(${name}/${suite} PROPERTIES TIMEOUT 600)
  # These take longest: ctest begins with what costs most, so that none of them is left alone.
  if(suite MATCHES "Hostile|Mutations|Drawn|BatchRunner")
    set_tests_properties(${name}/${suite} PROPERTIES COST 10)
  endif()
endforeach()
