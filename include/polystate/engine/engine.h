#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

struct EngineSessionOptions {
  // Records an ETDump of every call; take_profile returns it.
  bool profile = false;
};

// One caller's copy of a program's state and working memory. Not for two threads at once: Session sees to that.
class EngineSession {
 public:
  virtual ~EngineSession() = default;

  // Runs method `method` (index in the manifest) on inputs that the contract accepted. Returns the outputs, which nothing
  // overwrites later, and writes the inputs that the method mutates; both only on success. kEngine on failure: the state then
  // may be half updated, unless the manifest calls the method atomic. kContract when a check inside the program failed.
  virtual Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) = 0;

  // The live memory of state `index` (order of the manifest); stable while the session exists.
  [[nodiscard]] virtual std::span<std::byte> state(std::size_t index) = 0;

  // Sets every state to its initial values; cheaper than copying where they are zeros.
  virtual void reset() = 0;

  // The profile recorded since the last call (an ETDump file), empty without `profile`.
  virtual Result<std::vector<std::byte>> take_profile() = 0;
};

// A loaded program: immutable, shared by threads.
class Engine {
 public:
  virtual ~Engine() = default;

  // A session with initial state; all methods are initialised before it is returned.
  virtual Result<std::unique_ptr<EngineSession>> new_session(const EngineSessionOptions& options) = 0;

  // Bytes that one more session will need at most: state, and working memory.
  [[nodiscard]] virtual std::uint64_t state_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t activation_bytes() const = 0;
};

}  // namespace polystate
