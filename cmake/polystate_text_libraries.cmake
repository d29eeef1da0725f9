# Finds the libraries of tokenizers, for this build and, installed with the package, for those that
# use it: the targets polystate::pcre2 and polystate::utf8proc. POLYSTATE_MISSING_LIBRARIES: which
# were not found.
find_library(POLYSTATE_PCRE2_LIBRARY pcre2-8)
find_library(POLYSTATE_UTF8PROC_LIBRARY utf8proc)
mark_as_advanced(POLYSTATE_PCRE2_LIBRARY POLYSTATE_UTF8PROC_LIBRARY)
set(POLYSTATE_MISSING_LIBRARIES)
foreach(polystate_library IN ITEMS pcre2 utf8proc)
  string(TOUPPER "POLYSTATE_${polystate_library}_LIBRARY" polystate_variable)
  if(NOT ${polystate_variable})
    list(APPEND POLYSTATE_MISSING_LIBRARIES ${polystate_library})
  elseif(NOT TARGET polystate::${polystate_library})
    add_library(polystate::${polystate_library} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(
      polystate::${polystate_library}
      PROPERTIES IMPORTED_LOCATION "${${polystate_variable}}"
    )
  endif()
endforeach()
