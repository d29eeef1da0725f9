#include "engine/executorch/executorch_engine.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/executor/program.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/instruction_set.h"
#include "engine/executorch/data_loader.h"
#include "engine/executorch/executorch_session.h"
#include "engine/executorch/log_capture.h"
#include "engine/executorch/operators/register.h"
#include "engine/executorch/program_check.h"
#include "engine/executorch/program_tables.h"
#include "engine/executorch/thread_pool.h"
#include "engine/state_layout.h"
#include "engine/tasks.h"
#include "kernels/parallel.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {
namespace {

using executorch::runtime::Program;

// An ExecuTorch program, with what its sessions share.
class ExecutorchEngine final : public Engine {
 public:
  ExecutorchEngine(Artifact artifact, std::unique_ptr<FileBytesLoader> loader, Program program,
                   ArenaSizes arenas)
      : artifact_(std::move(artifact)),
        loader_(std::move(loader)),
        program_(std::move(program)),
        arenas_(arenas),
        delegates_compute_(relies_on_delegates(artifact_.program()->bytes())) {}

  Result<std::unique_ptr<EngineSession>> new_session(const SessionOptions& options) const override {
    auto session = ExecutorchSession::load(program_, artifact_.manifest(), arenas_, options);
    if (!session) {
      return session.error();
    }
    const auto layout = shared_layout(**session);
    if (!layout) {
      return layout.error();
    }
    (*session)->start(*layout);
    return std::unique_ptr<EngineSession>(std::move(*session));
  }

  [[nodiscard]] std::uint64_t state_bytes() const override { return arenas_.state; }
  [[nodiscard]] std::uint64_t activation_bytes() const override { return arenas_.activations; }

  [[nodiscard]] std::size_t sessions_side_by_side() const override {
    return delegates_compute_ ? 1 : static_cast<std::size_t>(thread_count());
  }

  void parallel_for(std::size_t count,
                    const std::function<void(std::size_t index)>& task) const override {
    run_tasks(count, task);
  }

 private:
  // The layout of the state, read from the first session.
  Result<std::shared_ptr<const StateLayout>> shared_layout(ExecutorchSession& session) const {
    const std::lock_guard lock(layout_mutex_);
    if (layout_ == nullptr) {
      Result<StateLayout> layout = session.read_layout();
      if (!layout) {
        return layout.error();
      }
      layout_ = std::make_shared<const StateLayout>(std::move(*layout));
    }
    return layout_;
  }

  Artifact artifact_;
  std::unique_ptr<FileBytesLoader> loader_;  // the program keeps a pointer to it
  Program program_;
  ArenaSizes arenas_;
  bool delegates_compute_;  // under one lock of the process: XNNPACK's weights are kept once
  mutable std::mutex layout_mutex_;
  mutable std::shared_ptr<const StateLayout> layout_;
};

// What the process needs once, however many engines it has.
void prepare_runtime() {
  static std::once_flag once;
  std::call_once(once, [] {
    install_log_capture();
    const LogCapture log;
    register_kernels();
    // Packed weights are kept once a process instead of once a method and session.
    executorch::runtime::BackendOptions<1> options;
    (void)options.set_option("weight_cache_enabled", true);
    (void)executorch::runtime::set_option("XnnpackBackend", options.view());
  });
}

}  // namespace

Result<std::unique_ptr<Engine>> make_executorch_engine(const Artifact& artifact,
                                                       const ModelOptions& options) {
  if (const Status known = check_instruction_set(); !known) {
    return known.error();
  }
  prepare_runtime();
  const LogCapture log;
  auto loader = std::make_unique<FileBytesLoader>(artifact.program());
  auto program = Program::load(loader.get(), Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return Error{ErrorCode::kArtifact, artifact.manifest().program.file + " is no valid program" +
                                           (log.errors().empty() ? "" : ": " + log.errors())};
  }
  if (const Status named = check_tables(artifact.program()->bytes()); !named) {
    return Error{named.error().code,
                 artifact.manifest().program.file + ": " + named.error().message};
  }
  const Result<ArenaSizes> arenas = check_program(*program, artifact.manifest());
  if (!arenas) {
    return Error{arenas.error().code,
                 artifact.manifest().program.file + ": " + arenas.error().message};
  }
  // Last, since it is the whole process's.
  if (options.threads) {
    const auto threads = static_cast<std::uint32_t>(*options.threads);
    if (const Status status = set_thread_count(threads); !status) {
      return status.error();
    }
  }
  share_thread_count();
  return std::unique_ptr<Engine>(std::make_unique<ExecutorchEngine>(artifact, std::move(loader),
                                                                    std::move(*program), *arenas));
}

}  // namespace polystate
