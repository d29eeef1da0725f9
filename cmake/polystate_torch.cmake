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
set(torch_found OFF)
if(POLYSTATE_TORCH AND POLYSTATE_TORCH_CPU AND POLYSTATE_TORCH_INCLUDE)
  set(torch_found ON)
endif()
option(POLYSTATE_AOTI "Build the engine of AOTInductor, polystate_aoti" ${torch_found})
if(POLYSTATE_AOTI)
  if(NOT torch_found)
    message(
      FATAL_ERROR
      "POLYSTATE_AOTI is on, and libtorch was not found: Python_EXECUTABLE is "
      "'${Python_EXECUTABLE}'. Set it to an interpreter that has the package torch, or "
      "CMAKE_PREFIX_PATH to libtorch's folder."
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
