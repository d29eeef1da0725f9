#include "session/fake_engine.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "artifact/tiny_artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"
#include "support/fake_manifest.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

FakeManifest fake_manifest() {
  return {
      .constants = {{"task", "toy"}},
      .states = {{.name = "cache", .shape = {3}},
                 {.name = "count", .dtype = "int64", .zeros = false, .preview = "7"}},
      .methods = {{.name = "add",
                   .symbols = {{.name = "rows", .max = 4}},
                   .inputs = {{.name = "x", .dtype = "float32", .shape = {"rows"}}},
                   .writes = {0}},
                  {.name = "fill",
                   .inputs = {{.name = "x", .dtype = "float32", .shape = {2}, .written_from = 0}},
                   .atomic = true},
                  {.name = "get", .reads = {0, 1}, .atomic = true},
                  {.name = "turn",
                   .inputs = {{.name = "z", .dtype = "complex64", .shape = {2}}},
                   .outputs = {{.name = "0", .dtype = "complex64", .shape = {2}}},
                   .atomic = true},
                  {.name = "spin",
                   .inputs = {{.name = "z", .dtype = "complex64", .shape = {2}}},
                   .outputs = {{.name = "0", .dtype = "complex64", .shape = {2}}},
                   .writes = {0},
                   .atomic = true}},
  };
}

class FakeSession final : public EngineSession {
 public:
  explicit FakeSession(std::shared_ptr<FakeScript> script) : script_(std::move(script)) {
    ++script_->live_sessions;
    set_initial_state();
  }
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;
  ~FakeSession() override {
    EXPECT_FALSE(script_->engine_is_gone) << "an engine must outlive its sessions";
    --script_->live_sessions;
  }

  Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) override {
    ++script_->runs;
    return script_->run(method, inputs, states_);
  }
  [[nodiscard]] bool state_intact() const override { return script_->state_intact; }
  [[nodiscard]] std::span<std::byte> state(std::size_t index) override { return states_[index]; }
  void reset() override {
    ++script_->resets;
    set_initial_state();
  }
  Result<std::vector<std::byte>> take_profile() override { return std::vector(5, std::byte{1}); }

 private:
  void set_initial_state() {
    states_ = {std::vector(12, std::byte{0}), std::vector(8, std::byte{0})};
    states_[1][0] = std::byte{7};
  }

  std::shared_ptr<FakeScript> script_;
  std::vector<std::vector<std::byte>> states_;
};

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(std::shared_ptr<FakeScript> script) : script_(std::move(script)) {}
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
  ~FakeEngine() override { script_->engine_is_gone = true; }

  Result<std::unique_ptr<EngineSession>> new_session(const SessionOptions&) const override {
    return std::unique_ptr<EngineSession>(std::make_unique<FakeSession>(script_));
  }
  [[nodiscard]] std::uint64_t state_bytes() const override { return 20; }
  [[nodiscard]] std::uint64_t activation_bytes() const override { return 0; }

 private:
  std::shared_ptr<FakeScript> script_;
};

}  // namespace

Model fake_model(const std::shared_ptr<FakeScript>& script, char weights) {
  const TemporaryFolder folder;
  TinyArtifact files;
  files.files = {{"manifest.json", fake_manifest().text()}, {"model.pte", std::string(1, weights)}};
  files.seal();
  files.write(folder / "artifact");
  return Model::create(Artifact::open(folder / "artifact").value(),
                       std::make_unique<FakeEngine>(script));
}

}  // namespace polystate
