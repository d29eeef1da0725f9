# Whether texts can be constrained by grammars. xgrammar (Apache-2.0) comes as sources, which
# tools/setup.sh unpacks; without them the default is to leave grammars out.
set(
  POLYSTATE_XGRAMMAR
  ${PROJECT_SOURCE_DIR}/.venv/xgrammar
  CACHE PATH
  "Folder of xgrammar's sources"
)
set(sources_found OFF)
if(EXISTS ${POLYSTATE_XGRAMMAR}/include/xgrammar/xgrammar.h)
  set(sources_found ON)
endif()
option(POLYSTATE_GRAMMAR "Constrain texts by grammars, with xgrammar" ${sources_found})
if(POLYSTATE_GRAMMAR AND NOT sources_found)
  message(
    FATAL_ERROR
    "POLYSTATE_GRAMMAR needs xgrammar's sources, which are not in '${POLYSTATE_XGRAMMAR}': "
    "POLYSTATE_XGRAMMAR names another folder."
  )
endif()
