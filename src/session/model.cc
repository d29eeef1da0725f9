#include "polystate/session/model.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "core/out_of_memory.h"
#include "engine/engine_factory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"
#include "polystate/session/session.h"
#include "session/loaded_model.h"
#include "session/session_impl.h"

namespace polystate {

Model::Model(std::shared_ptr<const Loaded> loaded) : loaded_(std::move(loaded)) {}

Result<Model> Model::open(const std::filesystem::path& directory, const ModelOptions& options) {
  return or_out_of_memory("open", directory.native(), [&] { return open_at(directory, options); });
}

Result<Model> Model::open_at(const std::filesystem::path& directory, const ModelOptions& options) {
  Result<Artifact> artifact = Artifact::open(directory, options.artifact);
  if (!artifact) {
    return artifact.error();
  }
  Result<std::unique_ptr<Engine>> engine = make_engine(*artifact, options);
  if (!engine) {
    return engine.error();
  }
  return create(std::move(*artifact), std::move(*engine));
}

Model Model::create(Artifact artifact, std::unique_ptr<Engine> engine) {
  return Model(std::make_shared<const Loaded>(std::move(artifact), std::move(engine)));
}

Result<Session> Model::new_session(const SessionOptions& options) const {
  return or_out_of_memory("make a session", "", [&] { return make_session(options); });
}

Result<Session> Model::make_session(const SessionOptions& options) const {
  auto engine = loaded_->engine->new_session(options);
  if (!engine) {
    return engine.error();
  }
  return Session(std::make_unique<Session::Impl>(loaded_, std::move(*engine), options.profile));
}

const Manifest& Model::manifest() const { return loaded_->artifact.manifest(); }

const Artifact& Model::artifact() const { return loaded_->artifact; }

std::uint64_t Model::state_bytes() const { return loaded_->engine->state_bytes(); }

std::uint64_t Model::activation_bytes() const { return loaded_->engine->activation_bytes(); }

std::size_t Model::sessions_side_by_side() const {
  return loaded_->engine->sessions_side_by_side();
}

void Model::parallel_for(std::size_t count,
                         const std::function<void(std::size_t index)>& task) const {
  loaded_->engine->parallel_for(count, task);
}

}  // namespace polystate
