#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/options.h"  // IWYU pragma: export

namespace polystate {

// One caller's copy of a program's state and working memory. Not for two threads at once: Session
// sees to that.
//
// Programs have real tensors alone: an engine takes, gives and holds pairs [..., 2] for complex
// ones (Tensor::pairs), and its manifest says so (Artifact::with_pairs).
class EngineSession {
 public:
  virtual ~EngineSession() = default;

  // Runs method `method` (index in the manifest) on inputs that the contract accepted; those that
  // it mutates are writable. Returns the outputs, which nothing overwrites later, and writes the
  // inputs that the method mutates; both only on success. kContract when a check inside the program
  // failed, kEngine on another failure.
  virtual Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) = 0;

  // As run, but the outputs may lie in the session's own memory: until its next call.
  virtual Result<std::vector<Tensor>> run_borrowing(std::size_t method,
                                                    std::span<const Tensor> inputs) {
    return run(method, inputs);
  }

  // Whether the state is as it was before the last run, if that run failed; otherwise it may be
  // half updated.
  [[nodiscard]] virtual bool state_intact() const = 0;

  // The live memory of state `index` (order of the manifest); stable while the session exists.
  [[nodiscard]] virtual std::span<std::byte> state(std::size_t index) = 0;

  // Sets every state to its initial values; cheaper than copying where they are zeros.
  virtual void reset() = 0;

  // The profile recorded since the last call, empty without `profile`: an ETDump of ExecuTorch, a
  // trace of AOTInductor's kernels (docs/engines.md).
  virtual Result<std::vector<std::byte>> take_profile() = 0;
};

// A loaded program: immutable, shared by threads. It outlives its sessions.
class Engine {
 public:
  virtual ~Engine() = default;

  // A session with initial state; all methods are initialised before it is returned.
  virtual Result<std::unique_ptr<EngineSession>> new_session(
      const SessionOptions& options) const = 0;

  // Bytes of one more session's state, and the most of working memory that it needs besides.
  [[nodiscard]] virtual std::uint64_t state_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t activation_bytes() const = 0;

  // How many single-threaded sessions are worth running at the same time, within parallel_for: as
  // many as it has threads, or 1 where sessions would wait for one another.
  [[nodiscard]] virtual std::size_t sessions_side_by_side() const { return 1; }

  // Calls `task` with 0 to count - 1, on the threads that methods run on where the engine has some,
  // and on this one, which takes task 0. Returns when all are done. An exception of a task is
  // thrown again here.
  virtual void parallel_for(std::size_t count,
                            const std::function<void(std::size_t index)>& task) const {
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
};

}  // namespace polystate
