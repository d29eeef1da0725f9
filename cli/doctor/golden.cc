#include "cli/doctor/golden.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/doctor/compare.h"
#include "cli/doctor/recorded_contract.h"
#include "cli/exit_status.h"
#include "cli/text.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/artifact/npz.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/session/session.h"

namespace polystate::cli {
namespace {

using Record = std::map<std::string, Tensor>;

// One recorded call, and what it must give.
struct GoldenCall {
  std::size_t index;
  const MethodSpec& method;
};

std::string entry_name(std::size_t call, const std::string& kind, std::size_t index) {
  return call_name(call) + "/" + kind + "_" + std::to_string(index);
}

class Replayer {
 public:
  Replayer(const Manifest& manifest, const GoldenSpec& golden, Record record, Session& session)
      : manifest_(manifest), golden_(golden), record_(std::move(record)), session_(session) {}

  Result<Replay> replay() {
    for (std::size_t i = 0; i < golden_.calls.size(); ++i) {
      const std::string& name = golden_.calls[i];
      const Result<std::size_t> method = manifest_.method_index(name);
      if (!method) return method.error();
      const Status status = replay_call({i, manifest_.methods[*method]});
      if (!status) return at_call(i, name, status.error());
      if (replay_.deviation.has_value()) break;
      ++replay_.calls;
    }
    return std::move(replay_);
  }

 private:
  // On success the call agreed, or replay_ has its deviation.
  Status replay_call(const GoldenCall& call) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < call.method.inputs.size(); ++i) {
      Result<Tensor> input = entry(entry_name(call.index, "input", i));
      if (!input) return input.error();
      inputs.push_back(*std::move(input));
    }
    const Result<std::vector<Tensor>> outputs = session_.run(call.method.name, inputs);
    if (!outputs) return outputs.error();
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const OutputSpec& output = call.method.outputs[i];
      const Result<Recorded> expected = recorded(call, "output", i);
      if (!expected) return expected.error();
      compare(call, "output '" + output.name + "'", *expected, (*outputs)[i]);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputSpec& input = call.method.inputs[i];
      if (!input.written_from.has_value()) continue;
      const Result<Recorded> expected = recorded(call, "written", i);
      if (!expected) return expected.error();
      compare(call, "input '" + input.name + "' after the call", *expected, inputs[i]);
    }
    return {};
  }

  void compare(const GoldenCall& call, std::string tensor, const Recorded& expected,
               const Tensor& found) {
    if (replay_.deviation.has_value()) return;
    std::optional<Difference> difference =
        first_difference(expected, found, {golden_.relative_tolerance, golden_.absolute_tolerance});
    if (difference.has_value()) {
      replay_.deviation =
          Deviation{call.index, call.method.name, std::move(tensor), *std::move(difference)};
    } else {
      replay_.elements += expected.values.element_count();
    }
  }

  // Of a large tensor some values are recorded, and their places.
  [[nodiscard]] Result<Recorded> recorded(const GoldenCall& call, const std::string& kind,
                                          std::size_t index) const {
    const std::string name = entry_name(call.index, kind, index);
    const Result<Tensor> values = entry(name);
    if (!values) return values.error();
    if (!record_.contains(name + "_places")) return Recorded::whole(*values);
    const auto shape = integers(name + "_shape");
    if (!shape) return shape.error();
    const auto places = integers(name + "_places");
    if (!places) return places.error();
    const auto elements = element_count(values->dtype(), *shape);
    const auto is_element = [&](std::int64_t place) {
      return place >= 0 && static_cast<std::size_t>(place) < *elements;
    };
    if (!elements || places->size() != values->element_count() ||
        !std::ranges::all_of(*places, is_element)) {
      return Error{ErrorCode::kArtifact,
                   golden_.file + ": the entries of '" + name + "' do not fit one another"};
    }
    return Recorded{*values, *shape, std::vector<std::size_t>(places->begin(), places->end())};
  }

  [[nodiscard]] Result<Tensor> entry(const std::string& name) const {
    const auto found = record_.find(name);
    if (found == record_.end()) {
      return Error{ErrorCode::kArtifact, golden_.file + " has no entry '" + name + "'"};
    }
    return found->second;
  }

  [[nodiscard]] Result<std::vector<std::int64_t>> integers(const std::string& name) const {
    const Result<Tensor> found = entry(name);
    if (!found) return found.error();
    if (found->dtype() != DType::kInt64) {
      return Error{ErrorCode::kArtifact, golden_.file + ": '" + name + "' is " +
                                             std::string(name_of(found->dtype())) +
                                             "; it must be int64"};
    }
    const auto values = found->values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }

  // A recorded input that its own contract refuses is a fault of the record.
  [[nodiscard]] static Error at_call(std::size_t index, const std::string& method,
                                     const Error& error) {
    const ErrorCode code = error.code == ErrorCode::kContract ? ErrorCode::kArtifact : error.code;
    return Error{code, call_name(index) + " (" + method + "): " + error.message};
  }

  const Manifest& manifest_;
  const GoldenSpec& golden_;
  Record record_;
  Session& session_;
  Replay replay_;
};

// The manifest's contract beside the one that was recorded, where there is one.
Status check_contract(const Artifact& artifact, const GoldenSpec& golden, const Record& record) {
  const auto found = record.find("contract");
  if (found == record.end()) return {};
  const std::span<const std::byte> bytes = found->second.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Status same = check_recorded_contract(artifact.manifest_text(), text);
  if (same) return {};
  return Error{same.error().code, golden.file + ": " + same.error().message};
}

}  // namespace

Result<Replay> replay_golden(const Artifact& artifact, const GoldenSpec& golden, Session& session) {
  const auto file = artifact.read(golden.file);
  if (!file) return while_opening(file.error());
  Result<Record> record = parse_npz((*file)->bytes());
  if (!record) {
    return Error{ErrorCode::kArtifact, golden.file + ": " + record.error().message};
  }
  if (const Status same = check_contract(artifact, golden, *record); !same) return same.error();
  return Replayer(artifact.manifest(), golden, *std::move(record), session).replay();
}

std::string deviation_text(const Deviation& deviation) {
  const Difference& difference = deviation.difference;
  const std::string limit = difference.limit.empty() ? "" : ", limit " + difference.limit;
  return call_name(deviation.call) + " (" + deviation.method + "), " + deviation.tensor + " " +
         difference.place + ": expected " + difference.expected + ", found " + difference.found +
         limit;
}

}  // namespace polystate::cli
