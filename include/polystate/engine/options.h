#pragma once

#include <cstdint>
#include <optional>

#include "polystate/artifact/artifact.h"

namespace polystate {

// The most threads that an engine's pool may have: all are started at once, busy or not.
inline constexpr std::int64_t kMaxThreads = 1024;

// How an artifact is opened and its program loaded.
struct ModelOptions {
  ArtifactOptions artifact = {};
  // Threads of the engine's pool, which the whole process shares: 1 to kMaxThreads. Without a value
  // it stays as it is (at first: one per core; with AOTInductor as many as OMP_NUM_THREADS says, if
  // it is set). ExecuTorch's sessions hold on to its pool: another number than it has is refused
  // (kEngine) while one of them exists. AOTInductor's ask for the number at each call: another one
  // is that of all its sessions from their next calls on.
  std::optional<std::int64_t> threads = std::nullopt;
  // Whether a program that is machine code (of AOTInductor) is run: it can do whatever this process
  // can, and no check of ours can tell what it does.
  bool trust_code = false;
};

struct SessionOptions {
  // Records what every call takes; take_profile returns it.
  bool profile = false;
  // Its calls stay on the thread that makes them, whatever the engine has: for several sessions
  // that run side by side, each on a thread of its own.
  bool single_threaded = false;
};

}  // namespace polystate
