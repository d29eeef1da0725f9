# Has a target's sources compiled a few at a time, each folder's with their own kind, so that headers
# are read less often. Names of one folder's sources must not collide then, not even hidden ones.
# The kernels and their tests take long by themselves, and stay alone.
function(polystate_join_sources target)
  set(together 6)
  set_target_properties(
    ${target}
    PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_RELOCATABLE ON
  )
  # It takes the sources for headers.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(GET source PARENT_PATH group)
    cmake_path(RELATIVE_PATH group BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(group MATCHES "^(src|tests/cpp)/kernels|/aten$")
      continue()
    elseif(group MATCHES "^cli")
      set(group cli) # its folders are small, and few of their sources read CLI11's headers
    endif()
    string(MAKE_C_IDENTIFIER ${group} group)
    math(EXPR count_${group} "${count_${group}} + 1")
    math(EXPR number "(${count_${group}} - 1) / ${together}")
    set_source_files_properties(
      ${source}
      TARGET_DIRECTORY ${target}
      PROPERTIES UNITY_GROUP ${group}_${number}
    )
  endforeach()
endfunction()
