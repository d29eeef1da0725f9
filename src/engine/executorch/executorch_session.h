#pragma once

#include <executorch/runtime/executor/program.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/executorch/loaded_method.h"
#include "engine/executorch/profiler.h"
#include "engine/executorch/program_check.h"
#include "engine/executorch/thread_pool.h"
#include "engine/state_layout.h"
#include "polystate/engine/engine.h"

namespace polystate {

// A session of an ExecuTorch program: every method loaded over one activation arena and one state
// arena.
class ExecutorchSession final : public EngineSession {
 public:
  // Loads every method. `program` and `manifest` outlive the session. It is of no use before
  // `start`.
  static Result<std::unique_ptr<ExecutorchSession>> load(
      const executorch::runtime::Program& program, const Manifest& manifest, ArenaSizes arenas,
      const SessionOptions& options);

  // What the layout is read from, before `start`.
  Result<StateLayout> read_layout();

  // Sets the state to its initial values.
  void start(std::shared_ptr<const StateLayout> layout);

  Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) override;
  Result<std::vector<Tensor>> run_borrowing(std::size_t method,
                                            std::span<const Tensor> inputs) override;
  [[nodiscard]] bool state_intact() const override { return state_intact_; }
  [[nodiscard]] std::span<std::byte> state(std::size_t index) override;
  void reset() override;
  Result<std::vector<std::byte>> take_profile() override;

 private:
  using OutputsOf = Result<std::vector<Tensor>> (LoadedMethod::*)();

  ExecutorchSession(const Manifest& manifest, Arena activations, Arena state, bool single_threaded);

  Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs,
                                  OutputsOf outputs_of);

  const Manifest& manifest_;
  bool single_threaded_;
  ThreadPoolUse pool_;  // outlives the methods
  SessionMemory memory_;
  std::unique_ptr<Profiler> profiler_;  // null without profile; the methods keep a pointer to it
  std::vector<LoadedMethod> methods_;   // by the manifest's order
  std::shared_ptr<const StateLayout> layout_;
  bool state_intact_ = true;
};

}  // namespace polystate
