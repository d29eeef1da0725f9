# Finds libtorch in the wheel torch of Python_EXECUTABLE: the target polystate_torch, for the engine
# of AOTInductor. It uses libtorch's C interface alone, so that nothing of PyTorch's C++ is compiled.
# POLYSTATE_AOTI: whether that engine is built; by default where libtorch is found.
polystate_find_python_package(torch torch_package)
find_library(POLYSTATE_TORCH torch HINTS ${torch_package}/lib)
find_library(POLYSTATE_TORCH_CPU torch_cpu HINTS ${torch_package}/lib)
find_path(
  POLYSTATE_TORCH_INCLUDE
  torch/csrc/inductor/aoti_torch/c/shim.h
  HINTS ${torch_package}/include
)
# What exports programs is of this version, and what is compiled here calls its operators.
set(torch_wanted 2.13)
set(torch_version) # major.minor
set(torch_found OFF)
if(POLYSTATE_TORCH AND POLYSTATE_TORCH_CPU AND POLYSTATE_TORCH_INCLUDE)
  set(torch_numbers ${POLYSTATE_TORCH_INCLUDE}/torch/headeronly/version.h)
  if(EXISTS ${torch_numbers})
    file(STRINGS ${torch_numbers} torch_numbers REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
    string(REGEX MATCHALL "[0-9]+" torch_numbers "${torch_numbers}")
    list(JOIN torch_numbers "." torch_version)
  endif()
  if(torch_version STREQUAL torch_wanted)
    set(torch_found ON)
  elseif(NOT DEFINED POLYSTATE_AOTI)
    message(
      WARNING
      "The engine of AOTInductor is left out: it needs PyTorch ${torch_wanted}, and "
      "'${POLYSTATE_TORCH_INCLUDE}' is of version '${torch_version}'."
    )
  endif()
endif()
option(POLYSTATE_AOTI "Build the engine of AOTInductor, polystate_aoti" ${torch_found})
if(POLYSTATE_AOTI)
  if(NOT torch_found)
    set(torch_other)
    if(torch_version)
      set(torch_other " (but version '${torch_version}' in '${POLYSTATE_TORCH_INCLUDE}')")
    endif()
    message(
      FATAL_ERROR
      "POLYSTATE_AOTI is on, and libtorch ${torch_wanted} was not found${torch_other}: "
      "Python_EXECUTABLE is '${Python_EXECUTABLE}'. Set it to an interpreter that has the package "
      "torch==${torch_wanted}.0, or CMAKE_PREFIX_PATH to libtorch's folder."
    )
  endif()
  add_library(polystate_torch INTERFACE)
  target_include_directories(polystate_torch SYSTEM INTERFACE ${POLYSTATE_TORCH_INCLUDE})
  # Libraries of methods want both to be loaded, whether or not anything here calls them.
  target_link_libraries(
    polystate_torch
    INTERFACE
      -Wl,--push-state,--no-as-needed
      ${POLYSTATE_TORCH}
      ${POLYSTATE_TORCH_CPU}
      -Wl,--pop-state
  )
endif()
