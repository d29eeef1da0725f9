# Finds the libraries of tokenizers, for this build and, installed with the package, for those that
# use it: the targets polystate::pcre2 and polystate::utf8proc. POLYSTATE_MISSING_LIBRARIES: which
# were not found.
find_library(PCRE2_LIBRARY pcre2-8)
find_library(UTF8PROC_LIBRARY utf8proc)
mark_as_advanced(PCRE2_LIBRARY UTF8PROC_LIBRARY)
set(POLYSTATE_MISSING_LIBRARIES)
foreach(library IN ITEMS pcre2 utf8proc)
  string(TOUPPER ${library} variable)
  if(NOT ${variable}_LIBRARY)
    list(APPEND POLYSTATE_MISSING_LIBRARIES ${library})
  elseif(NOT TARGET polystate::${library})
    add_library(polystate::${library} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(
      polystate::${library}
      PROPERTIES IMPORTED_LOCATION "${${variable}_LIBRARY}"
    )
  endif()
endforeach()
