#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace polystate {

// A check inside a program that did not hold.
struct CheckFailure {
  std::int64_t id;    // of the manifest's check
  std::string found;  // the first value that breaks it: "7", "false"
};

// The way from a kernel, which can tell ExecuTorch only that it failed, to the engine that called
// the program on this thread.
void record_check_failure(CheckFailure failure);

// The last failure recorded on this thread since the last call.
std::optional<CheckFailure> take_check_failure();

}  // namespace polystate
