#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/engine/engine.h"
#include "polystate/session/session.h"
#include "session/loaded_model.h"

namespace polystate {

// What a session does once it is claimed: nothing here is for two threads at once.
class Session::Impl {
 public:
  Impl(std::shared_ptr<const Model::Loaded> model, std::unique_ptr<EngineSession> engine,
       bool profiles);

  std::atomic<bool>& busy() { return busy_; }

  Result<std::vector<Tensor>> run(std::string_view method, std::span<const Tensor> inputs);
  Result<std::vector<Tensor>> run_borrowing(std::string_view method,
                                            std::span<const Tensor> inputs);
  void reset();
  Result<Snapshot> snapshot();
  Status restore(const Snapshot& snapshot);
  Status save(const std::filesystem::path& path);
  Status load(const std::filesystem::path& path);
  Result<Tensor> read_state(std::string_view name);
  Status write_state(std::string_view name, const Tensor& value);
  Result<Tensor> read_state_rows(std::string_view name, std::span<const std::int64_t> rows);
  Status write_state_rows(std::string_view name, std::span<const std::int64_t> rows,
                          const Tensor& values);
  Result<std::vector<std::byte>> take_profile();

 private:
  using EngineRun = Result<std::vector<Tensor>> (EngineSession::*)(std::size_t,
                                                                   std::span<const Tensor>);
  // Checks the contract, and runs a method by one of the engine's ways.
  Result<std::vector<Tensor>> run_by(EngineRun run, std::string_view method,
                                     std::span<const Tensor> inputs);
  [[nodiscard]] const Manifest& manifest() const { return model_->artifact.manifest(); }
  // kEngine while the state is half updated.
  [[nodiscard]] Status require_whole_state() const;
  // Every state's live memory, in the manifest's order.
  std::vector<std::span<std::byte>> states();
  // A state's number; kEngine while the state is half updated, kContract for an unknown name.
  [[nodiscard]] Result<std::size_t> state_index(std::string_view name) const;
  // The live memory of each of these rows of a state. Errors as read_state_rows.
  struct Rows {
    const StateSpec* state;
    std::vector<std::span<std::byte>> memory;
  };
  [[nodiscard]] Result<Rows> rows_of(std::string_view name, std::span<const std::int64_t> rows);
  // Replaces all states by `bytes`, which are as many.
  void replace_states(std::span<const std::byte> bytes);

  const std::shared_ptr<const Model::Loaded> model_;  // outlives the engine's session
  const std::unique_ptr<EngineSession> engine_;
  const bool profiles_;
  std::atomic<bool> busy_ = false;
  // The method that failed and left the state half updated; empty while the state is whole.
  std::string broken_by_;
};

}  // namespace polystate
