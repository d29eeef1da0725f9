#include "session/session_impl.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
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

// The shape of some rows of a state.
Shape shape_of_rows(const StateSpec& spec, std::size_t rows) {
  Shape shape = spec.shape;
  shape.front() = static_cast<std::int64_t>(rows);
  return shape;
}

// That a value may become a state, or a part of this shape. `what` begins the message.
Status check_value(const StateSpec& spec, const std::string& what, const Shape& shape,
                   const Tensor& value) {
  if (value.dtype() != spec.dtype || value.shape() != shape) {
    return Error{ErrorCode::kContract,
                 what + std::string(name_of(spec.dtype)) + " " + to_string(shape) + ", not " +
                     std::string(name_of(value.dtype())) + " " + to_string(value.shape())};
  }
  if (has_bad_bool(value.dtype(), value.bytes())) {
    return Error{ErrorCode::kContract,
                 "state '" + spec.name + "': a bool of the value is neither 0 nor 1"};
  }
  return {};
}

// The inputs as the engine takes them: complex ones as pairs.
std::vector<Tensor> pairs_of(std::span<const Tensor> inputs) {
  std::vector<Tensor> pairs;
  pairs.reserve(inputs.size());
  for (const Tensor& input : inputs) pairs.push_back(input.pairs());
  return pairs;
}

// What it gave, as the caller gets it.
Result<std::vector<Tensor>> complex_of(const MethodSpec& spec, std::vector<Tensor> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const DType dtype = spec.outputs[i].dtype;
    if (!part_of(dtype)) continue;
    Result<Tensor> output = outputs[i].of_pairs(dtype);
    if (!output) {
      return Error{ErrorCode::kEngine, "method '" + spec.name + "', output " + std::to_string(i) +
                                           ": " + output.error().message};
    }
    outputs[i] = *std::move(output);
  }
  return outputs;
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
  Result<std::vector<Tensor>> outputs = or_out_of_memory("run method", spec.name, [&] {
    const bool has_complex = std::ranges::any_of(
        spec.inputs, [](const InputSpec& input) { return part_of(input.dtype).has_value(); });
    return has_complex ? ((*engine_).*run)(*index, pairs_of(inputs))
                       : ((*engine_).*run)(*index, inputs);
  });
  const bool has_run = outputs.has_value();
  if (has_run) outputs = complex_of(spec, *std::move(outputs));
  // What has run and gave no pairs has written its states, whatever the engine could take back.
  const bool is_whole = has_run ? spec.writes.empty() : engine_->state_intact();
  if (!outputs && !is_whole) {
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
  std::span<const std::byte> rest = *bytes;
  for (std::size_t i = 0; i < manifest().state.size(); ++i) {
    const StateSpec& spec = manifest().state[i];
    const auto own = rest.first(engine_->state(i).size());
    if (has_bad_bool(spec.dtype, own)) {
      return Error{ErrorCode::kArtifact,
                   path.string() + ": a bool of state '" + spec.name + "' is neither 0 nor 1"};
    }
    rest = rest.subspan(own.size());
  }
  replace_states(*bytes);
  return {};
}

Result<std::size_t> Session::Impl::state_index(std::string_view name) const {
  if (const Status whole = require_whole_state(); !whole) {
    return whole.error();
  }
  return manifest().state_index(name);
}

Result<Tensor> Session::Impl::read_state(std::string_view name) {
  const Result<std::size_t> index = state_index(name);
  if (!index) {
    return index.error();
  }
  const StateSpec& spec = manifest().state[*index];
  return Tensor::copy_of(spec.dtype, spec.shape, engine_->state(*index));
}

Status Session::Impl::write_state(std::string_view name, const Tensor& value) {
  const Result<std::size_t> index = state_index(name);
  if (!index) {
    return index.error();
  }
  const StateSpec& spec = manifest().state[*index];
  if (Status fits = check_value(spec, "state '" + spec.name + "' is ", spec.shape, value); !fits) {
    return fits;
  }
  copy_changed(value.bytes(), engine_->state(*index));
  return {};
}

Result<Tensor> Session::Impl::read_state_rows(std::string_view name,
                                              std::span<const std::int64_t> rows) {
  const Result<Rows> found = rows_of(name, rows);
  if (!found) {
    return found.error();
  }
  Result<Tensor> values =
      Tensor::empty(found->state->dtype, shape_of_rows(*found->state, rows.size()));
  if (!values) {
    return values;
  }
  std::span<std::byte> to = values->mutable_bytes();
  for (const std::span<const std::byte> row : found->memory) {
    std::ranges::copy(row, to.begin());
    to = to.subspan(row.size());
  }
  return values;
}

Status Session::Impl::write_state_rows(std::string_view name, std::span<const std::int64_t> rows,
                                       const Tensor& values) {
  const Result<Rows> found = rows_of(name, rows);
  if (!found) {
    return found.error();
  }
  const StateSpec& spec = *found->state;
  if (Status fits = check_value(spec, "these rows of state '" + spec.name + "' are ",
                                shape_of_rows(spec, rows.size()), values);
      !fits) {
    return fits;
  }
  std::span<const std::byte> from = values.bytes();
  for (const std::span<std::byte> row : found->memory) {
    std::ranges::copy(from.first(row.size()), row.begin());
    from = from.subspan(row.size());
  }
  return {};
}

Result<Session::Impl::Rows> Session::Impl::rows_of(std::string_view name,
                                                   std::span<const std::int64_t> rows) {
  const Result<std::size_t> index = state_index(name);
  if (!index) {
    return index.error();
  }
  const StateSpec& spec = manifest().state[*index];
  if (spec.shape.empty()) {
    return Error{ErrorCode::kContract, "state '" + spec.name + "' has no dimensions"};
  }
  const std::span<std::byte> all = engine_->state(*index);
  Rows found = {&spec, {}};
  found.memory.reserve(rows.size());
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= spec.shape.front()) {
      return Error{ErrorCode::kContract, "state '" + spec.name + "' has " +
                                             std::to_string(spec.shape.front()) +
                                             " rows; there is no row " + std::to_string(row)};
    }
    const std::size_t size = all.size() / static_cast<std::size_t>(spec.shape.front());
    found.memory.push_back(all.subspan(static_cast<std::size_t>(row) * size, size));
  }
  return found;
}

Result<std::vector<std::byte>> Session::Impl::take_profile() {
  if (!profiles_) {
    return Error{ErrorCode::kContract, "this session was not opened with the option profile"};
  }
  return engine_->take_profile();
}

}  // namespace polystate
