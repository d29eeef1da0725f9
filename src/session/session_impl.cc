#include "session/session_impl.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bools.h"
#include "core/out_of_memory.h"
#include "polystate/artifact/contract.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "session/state_file.h"

namespace polystate {
namespace {

// Copies only the pages that differ, so that zeros do not touch memory which nothing has used yet.
void copy_changed(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t kPageBytes = 4096;
  for (std::size_t i = 0; i < from.size(); i += kPageBytes) {
    const std::size_t count = std::min(kPageBytes, from.size() - i);
    if (std::memcmp(to.data() + i, from.data() + i, count) != 0) {
      std::memcpy(to.data() + i, from.data() + i, count);
    }
  }
}

std::size_t total_size(std::span<const std::span<std::byte>> states) {
  std::size_t size = 0;
  for (const auto state : states) {
    size += state.size();
  }
  return size;
}

}  // namespace

Session::Impl::Impl(std::shared_ptr<const Model::Loaded> model,
                    std::unique_ptr<EngineSession> engine, bool profiles)
    : model_(std::move(model)), engine_(std::move(engine)), profiles_(profiles) {}

Status Session::Impl::require_whole_state() const {
  if (broken_by_.empty()) {
    return {};
  }
  return Error{ErrorCode::kEngine, "the state is half updated since method '" + broken_by_ +
                                       "' failed: reset, restore or load the session first"};
}

std::vector<std::span<std::byte>> Session::Impl::states() {
  std::vector<std::span<std::byte>> states;
  states.reserve(manifest().state.size());
  for (std::size_t i = 0; i < manifest().state.size(); ++i) {
    states.push_back(engine_->state(i));
  }
  return states;
}

void Session::Impl::replace_states(std::span<const std::byte> bytes) {
  for (const auto state : states()) {
    copy_changed(bytes.first(state.size()), state);
    bytes = bytes.subspan(state.size());
  }
  broken_by_.clear();
}

Result<std::vector<Tensor>> Session::Impl::run(std::string_view method,
                                               std::span<const Tensor> inputs) {
  return run_by(&EngineSession::run, method, inputs);
}

Result<std::vector<Tensor>> Session::Impl::run_borrowing(std::string_view method,
                                                         std::span<const Tensor> inputs) {
  return run_by(&EngineSession::run_borrowing, method, inputs);
}

Result<std::vector<Tensor>> Session::Impl::run_by(EngineRun run, std::string_view method,
                                                  std::span<const Tensor> inputs) {
  if (const Status whole = require_whole_state(); !whole) {
    return whole.error();
  }
  const Result<std::size_t> index = manifest().method_index(method);
  if (!index) {
    return index.error();
  }
  const MethodSpec& spec = manifest().methods[*index];
  if (const Status accepted = check_contract(spec, inputs); !accepted) {
    return accepted.error();
  }
  Result<std::vector<Tensor>> outputs =
      or_out_of_memory("run method", spec.name, [&] { return ((*engine_).*run)(*index, inputs); });
  if (!outputs && !engine_->state_intact()) {
    broken_by_ = spec.name;
    return Error{outputs.error().code, outputs.error().message +
                                           "; the state may be half updated: reset, restore or "
                                           "load the session before the next call"};
  }
  return outputs;
}

void Session::Impl::reset() {
  engine_->reset();
  broken_by_.clear();
}

Result<Snapshot> Session::Impl::snapshot() {
  if (const Status whole = require_whole_state(); !whole) {
    return whole.error();
  }
  const auto all = states();
  Snapshot snapshot;
  snapshot.model_ = model_->artifact.digest();
  snapshot.bytes_.reserve(total_size(all));
  for (const auto state : all) {
    snapshot.bytes_.insert(snapshot.bytes_.end(), state.begin(), state.end());
  }
  return snapshot;
}

Status Session::Impl::restore(const Snapshot& snapshot) {
  if (snapshot.model_ != model_->artifact.digest()) {
    return Error{ErrorCode::kContract, "the snapshot is of another model"};
  }
  if (snapshot.bytes_.size() != total_size(states())) {
    return Error{ErrorCode::kContract, "the snapshot is empty: it was moved from"};
  }
  replace_states(snapshot.bytes_);
  return {};
}

Status Session::Impl::save(const std::filesystem::path& path) {
  if (Status whole = require_whole_state(); !whole) {
    return whole;
  }
  const auto all = states();
  return write_state_file(path, model_->artifact.digest(),
                          std::vector<std::span<const std::byte>>(all.begin(), all.end()));
}

Status Session::Impl::load(const std::filesystem::path& path) {
  const auto bytes = read_state_file(path, model_->artifact.digest(), total_size(states()));
  if (!bytes) {
    return bytes.error();
  }
  replace_states(*bytes);
  return {};
}

Result<Tensor> Session::Impl::read_state(std::string_view name) {
  if (const Status whole = require_whole_state(); !whole) {
    return whole.error();
  }
  const Result<std::size_t> index = manifest().state_index(name);
  if (!index) {
    return index.error();
  }
  const StateSpec& spec = manifest().state[*index];
  return Tensor::copy_of(spec.dtype, spec.shape, engine_->state(*index));
}

Status Session::Impl::write_state(std::string_view name, const Tensor& value) {
  if (Status whole = require_whole_state(); !whole) {
    return whole;
  }
  const Result<std::size_t> index = manifest().state_index(name);
  if (!index) {
    return index.error();
  }
  const StateSpec& spec = manifest().state[*index];
  if (value.dtype() != spec.dtype || value.shape() != spec.shape) {
    return Error{ErrorCode::kContract,
                 "state '" + spec.name + "' is " + std::string(name_of(spec.dtype)) + " " +
                     to_string(spec.shape) + ", not " + std::string(name_of(value.dtype())) + " " +
                     to_string(value.shape())};
  }
  if (has_bad_bool(value.dtype(), value.bytes())) {
    return Error{ErrorCode::kContract,
                 "state '" + spec.name + "': a bool of the value is neither 0 nor 1"};
  }
  copy_changed(value.bytes(), engine_->state(*index));
  return {};
}

Result<std::vector<std::byte>> Session::Impl::take_profile() {
  if (!profiles_) {
    return Error{ErrorCode::kContract, "this session was not opened with the option profile"};
  }
  return engine_->take_profile();
}

}  // namespace polystate
