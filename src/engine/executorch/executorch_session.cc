#include "engine/executorch/executorch_session.h"

#include <executorch/runtime/executor/program.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/arena.h"
#include "engine/check_error.h"
#include "engine/executorch/loaded_method.h"
#include "engine/executorch/profiler.h"
#include "engine/executorch/program_check.h"
#include "engine/executorch/read_state_layout.h"
#include "engine/executorch/thread_pool.h"
#include "engine/input_writes.h"
#include "engine/state_layout.h"
#include "kernels/check_failure.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"

namespace polystate {
ExecutorchSession::ExecutorchSession(const Manifest& manifest, Arena activations, Arena state,
                                     bool single_threaded)
    : manifest_(manifest),
      single_threaded_(single_threaded),
      memory_{std::move(activations), std::move(state), {}} {}

Result<std::unique_ptr<ExecutorchSession>> ExecutorchSession::load(
    const executorch::runtime::Program& program, const Manifest& manifest, ArenaSizes arenas,
    const SessionOptions& options) {
  Result<Arena> activations = Arena::create(arenas.activations);
  if (!activations) {
    return activations.error();
  }
  Result<Arena> state = Arena::create(arenas.state);
  if (!state) {
    return state.error();
  }
  std::unique_ptr<ExecutorchSession> session(new ExecutorchSession(
      manifest, std::move(*activations), std::move(*state), options.single_threaded));
  if (options.profile) {
    session->profiler_ = std::make_unique<Profiler>();
  }
  auto* const tracer = options.profile ? session->profiler_->tracer() : nullptr;
  const SingleThread single_thread(options.single_threaded);
  session->methods_.reserve(manifest.methods.size());
  // Loading a method writes initial values into the state: all are loaded now, and none later.
  for (const MethodSpec& spec : manifest.methods) {
    auto method = LoadedMethod::load(program, spec, session->memory_, tracer);
    if (!method) {
      return method.error();
    }
    session->methods_.push_back(std::move(*method));
  }
  return session;
}

Result<StateLayout> ExecutorchSession::read_layout() {
  return read_state_layout(manifest_, methods_, memory_.state);
}

void ExecutorchSession::start(std::shared_ptr<const StateLayout> layout) {
  layout_ = std::move(layout);
  reset();
}

Result<std::vector<Tensor>> ExecutorchSession::run(std::size_t method,
                                                   std::span<const Tensor> inputs) {
  return run(method, inputs, &LoadedMethod::outputs);
}

Result<std::vector<Tensor>> ExecutorchSession::run_borrowing(std::size_t method,
                                                             std::span<const Tensor> inputs) {
  return run(method, inputs, &LoadedMethod::borrowed_outputs);
}

Result<std::vector<Tensor>> ExecutorchSession::run(std::size_t method,
                                                   std::span<const Tensor> inputs,
                                                   OutputsOf outputs_of) {
  const SingleThread single_thread(single_threaded_);
  const MethodSpec& spec = manifest_.methods[method];
  LoadedMethod& loaded = methods_[method];
  state_intact_ = true;
  if (const Status set = loaded.set_inputs(inputs); !set) {
    return set.error();
  }
  (void)take_check_failure();
  state_intact_ = spec.writes.empty();  // should anything throw
  const Status executed = loaded.execute();
  if (!executed) {
    const std::optional<CheckFailure> failure = take_check_failure();
    state_intact_ = spec.atomic || (failure.has_value() && spec.checks_first);
    return failure.has_value() ? check_error(spec, *failure) : executed.error();
  }
  const Result<InputWrites> writes = loaded.input_writes(inputs);
  if (!writes) return writes.error();
  Result<std::vector<Tensor>> outputs = (loaded.*outputs_of)();
  if (!outputs) return outputs.error();
  writes->apply(inputs);
  state_intact_ = true;
  return outputs;
}

std::span<std::byte> ExecutorchSession::state(std::size_t index) {
  return layout_->find(index, memory_.state);
}

void ExecutorchSession::reset() {
  layout_->initialise(memory_.state);
  state_intact_ = true;
}

Result<std::vector<std::byte>> ExecutorchSession::take_profile() {
  return profiler_ == nullptr ? std::vector<std::byte>() : profiler_->take();
}

}  // namespace polystate
