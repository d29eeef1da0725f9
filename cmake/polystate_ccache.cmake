# Compiles through ccache where it is installed and the user chose no launcher.
find_program(POLYSTATE_CCACHE ccache)
if(POLYSTATE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${POLYSTATE_CCACHE})
endif()
