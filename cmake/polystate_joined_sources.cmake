# Has a target's sources compiled twelve at a time, each folder's with their own kind and options,
# so that headers are read less often. Names of one folder's sources must not collide then, not even
# hidden ones. Alone stay the inner loops and their tests, which have such names, and sources with
# definitions of their own.
function(polystate_join_sources target)
  set(together 12)
  # It takes the sources for headers.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(alone)
  set(names)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH group)
    cmake_path(RELATIVE_PATH group BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    get_source_file_property(definitions ${path} TARGET_DIRECTORY ${target} COMPILE_DEFINITIONS)
    if(definitions OR group MATCHES "^(src|tests/cpp)/kernels" OR NOT source MATCHES "\\.cc$")
      list(APPEND alone ${source})
      continue()
    elseif(group MATCHES "^cli")
      set(group cli) # its folders are small, and few of their sources read CLI11's headers
    endif()
    get_source_file_property(options ${path} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if(options)
      string(MD5 kind "${options}")
      string(SUBSTRING ${kind} 0 4 kind)
      string(APPEND group _${kind})
    endif()
    string(MAKE_C_IDENTIFIER ${group} group)
    math(EXPR number "(${count_${group}} + 0) / ${together}")
    math(EXPR count_${group} "${count_${group}} + 1")
    set(name ${group}_${number})
    list(APPEND names ${name})
    list(APPEND sources_${name} ${path})
    set(options_${name} "${options}")
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${alone}")
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    polystate_add_joined(${target} ${name} "${options_${name}}" ${sources_${name}})
  endforeach()
endfunction()

# Adds a source to a target that includes others.
function(polystate_add_joined target name options)
  get_target_property(folder ${target} BINARY_DIR)
  set(file ${folder}/joined/${target}/${name}.cc)
  cmake_path(GET file PARENT_PATH folder)
  set(lines "")
  foreach(source IN LISTS ARGN)
    # The same in every clone.
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${folder} OUTPUT_VARIABLE path)
    string(APPEND lines "#include \"${path}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${lines}")
  target_sources(${target} PRIVATE ${file})
  if(options)
    set_source_files_properties(
      ${file}
      TARGET_DIRECTORY ${target}
      PROPERTIES COMPILE_OPTIONS "${options}"
    )
  endif()
endfunction()
