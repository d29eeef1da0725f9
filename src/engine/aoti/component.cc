#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/instruction_set.h"
#include "engine/aoti/aoti_program.h"
#include "engine/aoti/aoti_session.h"
#include "engine/aoti/openmp_team.h"
#include "engine/aoti_component.h"
#include "engine/tasks.h"
#include "kernels/parallel.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"
#include "polystate/engine/options.h"

namespace polystate {
namespace {

class AotiEngine final : public Engine {
 public:
  explicit AotiEngine(std::shared_ptr<const AotiProgram> program) : program_(std::move(program)) {}

  Result<std::unique_ptr<EngineSession>> new_session(const SessionOptions& options) const override {
    auto session = AotiSession::create(program_, options);
    if (!session) return session.error();
    return std::unique_ptr<EngineSession>(*std::move(session));
  }

  [[nodiscard]] std::uint64_t state_bytes() const override { return program_->state_bytes(); }
  // libtorch allocates as it goes.
  [[nodiscard]] std::uint64_t activation_bytes() const override { return 0; }

  [[nodiscard]] std::size_t sessions_side_by_side() const override {
    return static_cast<std::size_t>(thread_count());
  }
  void parallel_for(std::size_t count,
                    const std::function<void(std::size_t index)>& task) const override {
    run_tasks(count, task);
  }

 private:
  std::shared_ptr<const AotiProgram> program_;
};

Result<std::unique_ptr<Engine>> make_engine_here(const Artifact& artifact,
                                                 const ModelOptions& options) {
  if (const Status known = check_instruction_set(); !known) return known.error();
  use_team(&run_on_openmp);
  auto program = AotiProgram::load(artifact);
  if (!program) return program.error();
  // Last, since it is the whole process's. Sessions may exist: each call asks for the number.
  static std::once_flag has_threads;
  std::call_once(has_threads, [] { use_threads(std::min(openmp_threads(), kMaxThreads)); });
  if (options.threads) use_threads(*options.threads);
  return std::unique_ptr<Engine>(std::make_unique<AotiEngine>(*std::move(program)));
}

}  // namespace

// What the library polystate_aoti is loaded for.
extern "C" __attribute__((visibility("default"))) const AotiComponent polystate_aoti_component;
const AotiComponent polystate_aoti_component{.version = kAotiComponentVersion,
                                             .make_engine = &make_engine_here};

}  // namespace polystate
