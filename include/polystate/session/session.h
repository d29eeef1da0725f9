#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/core/tensor.h"

namespace polystate {

// A copy of a session's state at one moment. Of use with sessions of the same model only.
class Snapshot {
 public:
  Snapshot(Snapshot&&) noexcept = default;
  Snapshot& operator=(Snapshot&&) noexcept = default;
  Snapshot(const Snapshot&) = default;
  Snapshot& operator=(const Snapshot&) = default;

 private:
  friend class Session;
  Snapshot() = default;
  std::vector<std::byte> bytes_;  // every state, one after another
  Sha256 model_{};                // the digest of its artifact
};

// One caller's state over a shared model. Every call checks its inputs against the contract first;
// a call that the contract refuses leaves the state untouched. A call from a second thread while
// one runs is kBusy. After a failure inside the program that may have left the state half updated
// (also of a check there, kContract), the error says so and the session refuses everything
// (kEngine) but reset, restore and load. A session that was moved from refuses everything
// (kContract).
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Runs a method on `inputs`, in the manifest's order; returns its outputs, owned by the caller.
  // Inputs that the method mutates are written after success and are not returned.
  Result<std::vector<Tensor>> run(std::string_view method, std::span<const Tensor> inputs);
  Result<std::vector<Tensor>> run(std::string_view method,
                                  std::initializer_list<Tensor> inputs = {}) {
    return run(method, std::span<const Tensor>(inputs.begin(), inputs.size()));
  }

  // As run, but the outputs may lie in the session's own memory: the caller may read and overwrite
  // them until the session's next call or its end. For large outputs that are looked at once.
  Result<std::vector<Tensor>> run_borrowing(std::string_view method,
                                            std::span<const Tensor> inputs);

  // Sets all state to its initial values.
  Status reset();

  [[nodiscard]] Result<Snapshot> snapshot();
  // kContract when the snapshot is of another model, or was moved from.
  Status restore(const Snapshot& snapshot);

  // Writes the state to a file, atomically; load refuses another model's (kContract), a damaged one
  // (kArtifact) and a newer version's (kUnsupported), and leaves the state as it was.
  Status save(const std::filesystem::path& path);
  Status load(const std::filesystem::path& path);

  // A copy of a named state (fully qualified), and the way to set it. kContract for an unknown
  // name, dtype or shape.
  Result<Tensor> read_state(std::string_view name);
  Status write_state(std::string_view name, const Tensor& value);
  // The same of a part of a state: `rows` are indices into its first dimension, in any order;
  // values are [rows, ...]. kContract, too, for a state without dimensions and a row that it does
  // not have.
  Result<Tensor> read_state_rows(std::string_view name, std::span<const std::int64_t> rows);
  Status write_state_rows(std::string_view name, std::span<const std::int64_t> rows,
                          const Tensor& values);

  // What was recorded since the last call: an ETDump of ExecuTorch, a trace of AOTInductor's
  // kernels (docs/engines.md). kContract when the session does not profile.
  Result<std::vector<std::byte>> take_profile();

 private:
  friend class Model;
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace polystate
