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
#include "temporary_folder.h"

namespace polystate {
namespace {

constexpr const char* kManifest = R"json({
  "format": "polystate", "format_version": 1, "versions": {},
  "program": {
    "engine": "executorch", "file": "model.pte", "backend": "portable", "quantization": null,
    "operators": [], "delegates": []
  },
  "files": {"model.pte": 1},
  "constants": {"task": "toy"},
  "state": [
    {"name": "cache", "dtype": "float32", "shape": [3], "initial": "zeros", "preview": "0"},
    {"name": "count", "dtype": "int64", "shape": [], "initial": "stored", "preview": "7"}
  ],
  "methods": [
    {
      "name": "add",
      "symbols": [{"name": "rows", "input": 0, "dimension": 0, "min": 1, "max": 4, "scale": 1, "offset": 0}],
      "inputs": [
        {"name": "x", "dtype": "float32", "shape": ["rows"], "values": [], "written_from": null}
      ],
      "outputs": [], "guards": [], "checks": [], "reads": [],
      "writes": [{"state": 0, "update": "in_place", "reason": "a test"}],
      "atomic": false, "checks_first": true, "activation_bytes": 0
    },
    {
      "name": "fill", "symbols": [],
      "inputs": [
        {"name": "x", "dtype": "float32", "shape": [2], "values": [], "written_from": 0}
      ],
      "outputs": [], "guards": [], "checks": [], "reads": [], "writes": [],
      "atomic": true, "checks_first": true, "activation_bytes": 0
    },
    {
      "name": "get", "symbols": [], "inputs": [], "outputs": [], "guards": [], "checks": [],
      "reads": [0, 1], "writes": [], "atomic": true, "checks_first": true, "activation_bytes": 0
    }
  ],
  "golden": null
}
)json";

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

  Result<std::unique_ptr<EngineSession>> new_session(const EngineSessionOptions&) const override {
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
  files.files = {{"manifest.json", kManifest}, {"model.pte", std::string(1, weights)}};
  files.seal();
  files.write(folder / "artifact");
  return Model::create(Artifact::open(folder / "artifact").value(),
                       std::make_unique<FakeEngine>(script));
}

}  // namespace polystate
