# Finds the library of tokenizers, for this build and, installed with the package, for those that use
# it: the target polystate::pcre2. POLYSTATE_MISSING_LIBRARIES: what was not found.
find_library(POLYSTATE_PCRE2_LIBRARY pcre2-8)
mark_as_advanced(POLYSTATE_PCRE2_LIBRARY)
set(POLYSTATE_MISSING_LIBRARIES)
if(NOT POLYSTATE_PCRE2_LIBRARY)
  list(APPEND POLYSTATE_MISSING_LIBRARIES pcre2)
elseif(NOT TARGET polystate::pcre2)
  add_library(polystate::pcre2 UNKNOWN IMPORTED GLOBAL)
  set_target_properties(polystate::pcre2 PROPERTIES IMPORTED_LOCATION "${POLYSTATE_PCRE2_LIBRARY}")
endif()
