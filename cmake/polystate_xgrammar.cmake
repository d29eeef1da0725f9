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
# It is corrected by tools/xgrammar.patch; tools/setup.sh says in this file by which.
file(SHA256 ${PROJECT_SOURCE_DIR}/tools/xgrammar.patch patch_digest)
set(patched_by "")
if(EXISTS ${POLYSTATE_XGRAMMAR}/polystate_patch.sha256)
  file(STRINGS ${POLYSTATE_XGRAMMAR}/polystate_patch.sha256 patched_by LIMIT_COUNT 1)
endif()
option(POLYSTATE_GRAMMAR "Constrain texts by grammars, with xgrammar" ${sources_found})
if(POLYSTATE_GRAMMAR AND NOT sources_found)
  message(
    FATAL_ERROR
    "POLYSTATE_GRAMMAR needs xgrammar's sources, which are not in '${POLYSTATE_XGRAMMAR}': "
    "POLYSTATE_XGRAMMAR names another folder."
  )
endif()
if(POLYSTATE_GRAMMAR AND NOT patched_by STREQUAL patch_digest)
  message(
    FATAL_ERROR
    "xgrammar's sources in '${POLYSTATE_XGRAMMAR}' are not corrected by the present "
    "tools/xgrammar.patch: run `make setup`. In a folder of your own, apply that patch to xgrammar "
    "0.2.8 and write '${patch_digest}' into the file polystate_patch.sha256 there. "
    "POLYSTATE_GRAMMAR=OFF leaves grammars out."
  )
endif()
