#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"
#include "polystate/engine/options.h"  // IWYU pragma: export
#include "polystate/session/session.h"

namespace polystate {

// A program with its weights: immutable, cheap to copy, shared by threads. Sessions keep it alive.
class Model {
 public:
  // kContract for an option out of range, kEngine for `threads` that sessions do not let change
  // (see ModelOptions), and kUnsupported or kArtifact for what cannot run or is not trusted; kIo
  // where machine code cannot be unpacked into the folder for temporary files; else as
  // Artifact::open.
  static Result<Model> open(const std::filesystem::path& directory,
                            const ModelOptions& options = {});
  // Over an engine of the caller's.
  static Model create(Artifact artifact, std::unique_ptr<Engine> engine);

  // A session of its own state, which starts at the initial values.
  [[nodiscard]] Result<Session> new_session(const SessionOptions& options = {}) const;

  [[nodiscard]] const Manifest& manifest() const;
  [[nodiscard]] const Artifact& artifact() const;
  // Bytes of one more session's state, and the most of working memory that it needs besides.
  [[nodiscard]] std::uint64_t state_bytes() const;
  [[nodiscard]] std::uint64_t activation_bytes() const;
  // Engine::sessions_side_by_side.
  [[nodiscard]] std::size_t sessions_side_by_side() const;
  // Engine::parallel_for, for what a caller computes between two runs.
  void parallel_for(std::size_t count, const std::function<void(std::size_t index)>& task) const;

 private:
  friend class Session;
  struct Loaded;
  explicit Model(std::shared_ptr<const Loaded> loaded);

  static Result<Model> open_at(const std::filesystem::path& directory, const ModelOptions& options);
  [[nodiscard]] Result<Session> make_session(const SessionOptions& options) const;

  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace polystate
