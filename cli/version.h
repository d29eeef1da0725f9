#pragma once

namespace polystate::cli {

// Set by CMake: this project's version, and that of the ExecuTorch package it was built with.
inline constexpr const char* kVersion = POLYSTATE_VERSION;
inline constexpr const char* kExecutorchVersion = POLYSTATE_EXECUTORCH_VERSION;

}  // namespace polystate::cli
