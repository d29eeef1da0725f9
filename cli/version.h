#pragma once

#include <map>
#include <string>

namespace polystate::cli {

// Set by CMake: this project's version, and that of the ExecuTorch package it was built with, which
// is empty where it was built without ExecuTorch.
inline constexpr const char* kVersion = POLYSTATE_VERSION;
inline constexpr const char* kExecutorchVersion = POLYSTATE_EXECUTORCH_VERSION;
inline constexpr bool kHasExecutorch = *kExecutorchVersion != '\0';

// "0.1.0 (ExecuTorch 1.5.1)".
inline std::string version_text() {
  return std::string(kVersion) +
         (kHasExecutorch ? std::string(" (ExecuTorch ") + kExecutorchVersion + ")" : "");
}

// By name, as a manifest has those of its producer.
inline std::map<std::string, std::string> versions_here() {
  std::map<std::string, std::string> versions = {{"polystate", kVersion}};
  if (kHasExecutorch) versions.emplace("executorch", kExecutorchVersion);
  return versions;
}

}  // namespace polystate::cli
