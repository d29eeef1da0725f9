#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/engine_factory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/engine/engine.h"
#include "support/test_files.h"

namespace polystate {

// An exported artifact, its engine, and one session of it.
class Opened {
 public:
  explicit Opened(const std::string& name, const SessionOptions& options = {})
      : artifact_(Artifact::open(fixture(name)).value()),
        engine_(make_engine(artifact_, {}).value()),
        session_(engine_->new_session(options).value()) {}

  [[nodiscard]] const Manifest& manifest() const { return artifact_.manifest(); }
  [[nodiscard]] const Engine& engine() const { return *engine_; }
  EngineSession& session() { return *session_; }

  Result<std::vector<Tensor>> run(const std::string& method,
                                  const std::vector<Tensor>& inputs = {}) {
    return run(*session_, method, inputs);
  }
  Result<std::vector<Tensor>> run(EngineSession& session, const std::string& method,
                                  const std::vector<Tensor>& inputs = {}) const {
    return session.run(manifest().method_index(method).value(), inputs);
  }
  std::span<std::byte> state(const std::string& name) {
    return session_->state(manifest().state_index(name).value());
  }

 private:
  Artifact artifact_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineSession> session_;
};

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace polystate
