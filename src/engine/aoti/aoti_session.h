#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/aoti/aoti_program.h"
#include "engine/aoti/kernel_recorder.h"
#include "engine/arena.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "polystate/engine/options.h"

namespace polystate {

// A session of a program for AOTInductor: its own state, and what runs each method over it.
class AotiSession final : public EngineSession {
 public:
  // kUnsupported where calls are to be profiled and the machine code tells nothing of its kernels.
  static Result<std::unique_ptr<AotiSession>> create(std::shared_ptr<const AotiProgram> program,
                                                     const SessionOptions& options);

  Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) override;
  [[nodiscard]] bool state_intact() const override { return state_intact_; }
  [[nodiscard]] std::span<std::byte> state(std::size_t index) override {
    return program_->layout().find(index, state_);
  }
  void reset() override;
  Result<std::vector<std::byte>> take_profile() override;

 private:
  AotiSession(std::shared_ptr<const AotiProgram> program, Arena state,
              const SessionOptions& options)
      : program_(std::move(program)),
        state_(std::move(state)),
        single_threaded_(options.single_threaded) {
    if (options.profile) recorder_.emplace();
  }

  // The method's states and inputs, as it takes them.
  Result<std::vector<TensorHandle>> arguments(const AotiMethod& method,
                                              std::span<const Tensor> inputs);

  std::shared_ptr<const AotiProgram> program_;
  Arena state_;
  std::vector<AotiMethod::Container> containers_;  // by method
  bool single_threaded_;
  std::optional<KernelRecorder> recorder_;  // of a session that profiles
  bool state_intact_ = true;
};

}  // namespace polystate
