#include "engine/executorch/program_check.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/register.h"
#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

// The arenas that polystate plans: index 0 holds activations, 1 the state.
constexpr std::size_t kArenas = 2;

// More than any machine's address space has: a size beyond it is damage.
constexpr std::int64_t kMaxArenaBytes = 64LL * 1024 * 1024 * 1024 * 1024;

// What a tensor of the program must be, and how messages call it.
struct Expected {
  std::string name;  // "method 'step', input 0 'x'"
  DType dtype;
  std::vector<std::optional<std::int64_t>> sizes;  // of every dimension; empty where a run decides
};

Error mismatch(const std::string& name, const std::string& manifest, const std::string& program) {
  return Error{ErrorCode::kArtifact,
               name + ": manifest.json says " + manifest + ", the program " + program};
}

std::optional<std::int64_t> known_size(const std::optional<Expression>& size) {
  if (!size.has_value() || !size->is_constant()) {
    return {};
  }
  return size->steps()[0].operand;
}

template <typename Size>  // an Expression, or an optional one
std::vector<std::optional<std::int64_t>> known_sizes(const std::vector<Size>& shape) {
  std::vector<std::optional<std::int64_t>> sizes;
  sizes.reserve(shape.size());
  for (const Size& size : shape) {
    sizes.push_back(known_size(size));
  }
  return sizes;
}

bool is_row_major(const TensorInfo& info) { return std::ranges::is_sorted(info.dim_order()); }

Status check_tensor(const TensorInfo& info, const Expected& expected) {
  if (dtype_of(info.scalar_type()) != expected.dtype) {
    return mismatch(expected.name, std::string(name_of(expected.dtype)),
                    type_text(info.scalar_type()));
  }
  if (info.sizes().size() != expected.sizes.size()) {
    return mismatch(expected.name, std::to_string(expected.sizes.size()) + " dimensions",
                    std::to_string(info.sizes().size()));
  }
  for (std::size_t i = 0; i < expected.sizes.size(); ++i) {
    const std::optional<std::int64_t>& size = expected.sizes[i];
    if (size.has_value() && *size != info.sizes()[i]) {
      return mismatch(expected.name + ", dimension " + std::to_string(i), std::to_string(*size),
                      std::to_string(info.sizes()[i]));
    }
  }
  return {};
}

// A program has room for the largest size of each dimension, which is the size that it gives.
Status check_ranges(const TensorInfo& info, const MethodSpec& method, std::size_t input) {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  for (const Symbol& symbol : method.symbols) {
    if (symbol.input != input) continue;
    const std::int64_t room = info.sizes()[symbol.dimension];
    // It fits 64 bits, or the manifest would not have been read.
    const std::int64_t largest =
        symbol.max == kUnlimited ? kUnlimited : symbol.scale * symbol.max + symbol.offset;
    if (largest > room) {
      return mismatch(input_label(method, input) + ", dimension " +
                          std::to_string(symbol.dimension) + " '" + symbol.name + "'",
                      "up to " + std::to_string(largest), "has room for " + std::to_string(room));
    }
  }
  return {};
}

Status check_input(const MethodMeta& meta, const MethodSpec& method, std::size_t index) {
  const InputSpec& input = method.inputs[index];
  const std::string name = input_label(method, index);
  const auto tag = meta.input_tag(index);
  const auto info = meta.input_tensor_meta(index);
  if (!tag.ok() || *tag != Tag::Tensor || !info.ok()) {
    return mismatch(name, "a tensor", "something else");
  }
  if (Status same = check_tensor(*info, {name, input.dtype, known_sizes(input.shape)}); !same) {
    return same;
  }
  if (!is_row_major(*info)) {
    return Error{ErrorCode::kUnsupported,
                 name + ": the program wants another order of dimensions in memory than row-major"};
  }
  return check_ranges(*info, method, index);
}

Status check_output(const MethodMeta& meta, std::size_t program_output, const Expected& expected) {
  if (program_output >= meta.num_outputs()) {
    return mismatch(expected.name, "program output " + std::to_string(program_output),
                    "has " + std::to_string(meta.num_outputs()));
  }
  const auto tag = meta.output_tag(program_output);
  const auto info = meta.output_tensor_meta(program_output);
  if (!tag.ok() || *tag != Tag::Tensor || !info.ok()) {
    return mismatch(expected.name, "a tensor", "something else");
  }
  return check_tensor(*info, expected);
}

Status check_signature(const MethodMeta& meta, const MethodSpec& method) {
  if (meta.num_inputs() != method.inputs.size()) {
    return mismatch("method '" + method.name + "'",
                    std::to_string(method.inputs.size()) + " inputs",
                    std::to_string(meta.num_inputs()));
  }
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    if (Status status = check_input(meta, method, i); !status) {
      return status;
    }
    const InputSpec& input = method.inputs[i];
    if (input.written_from.has_value()) {
      const Expected expected{
          "method '" + method.name + "', what is written into " + short_input_label(method, i),
          input.dtype, known_sizes(input.shape)};
      if (Status status = check_output(meta, *input.written_from, expected); !status) {
        return status;
      }
    }
  }
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const OutputSpec& output = method.outputs[i];
    const Expected expected{
        "method '" + method.name + "', output " + std::to_string(i) + " '" + output.name + "'",
        output.dtype, known_sizes(output.shape)};
    if (Status status = check_output(meta, output.program_output, expected); !status) {
      return status;
    }
  }
  return {};
}

Status check_delegates(const MethodMeta& meta, const std::string& method) {
  for (std::size_t i = 0; i < meta.num_backends(); ++i) {
    const auto name = meta.get_backend_name(i);
    if (!name.ok()) {
      return Error{ErrorCode::kArtifact, "method '" + method + "': a delegate has no name"};
    }
    const auto* const backend = executorch::runtime::get_backend_class(*name);
    if (backend == nullptr || !backend->is_available()) {
      return Error{ErrorCode::kUnsupported, "method '" + method + "' needs the delegate '" + *name +
                                                "', which this build or machine lacks"};
    }
  }
  return {};
}

// The states of a manifest by their names, which last as long as it does.
using States = std::unordered_map<std::string_view, std::size_t>;

States states_of(const Manifest& manifest) {
  States states;
  for (std::size_t i = 0; i < manifest.state.size(); ++i) {
    states.emplace(manifest.state[i].name, i);
  }
  return states;
}

// Every buffer that the program names is a state of the manifest, and those that the method touches
// are there.
Status check_states(const MethodMeta& meta, const Manifest& manifest, const States& states,
                    const MethodSpec& method) {
  std::vector<bool> present(manifest.state.size(), false);
  for (std::size_t i = 0; i < meta.num_attributes(); ++i) {
    const auto info = meta.attribute_tensor_meta(i);
    if (!info.ok()) {
      return Error{ErrorCode::kArtifact,
                   "method '" + method.name + "': buffer " + std::to_string(i) + " cannot be read"};
    }
    const std::string name =
        "method '" + method.name + "', state '" + std::string(info->name()) + "'";
    const auto found = states.find(info->name());
    if (found == states.end()) {
      return Error{ErrorCode::kArtifact, name + " is in the program, but not in manifest.json"};
    }
    const std::size_t index = found->second;
    if (present[index]) {
      continue;  // a view of the state, which ExecuTorch gives the state's name
    }
    const StateSpec& state = manifest.state[index];
    const Expected expected{name, state.dtype, {state.shape.begin(), state.shape.end()}};
    if (Status same = check_tensor(*info, expected); !same) {
      return same;
    }
    if (!is_row_major(*info)) {
      return Error{ErrorCode::kUnsupported,
                   name + ": the program has another order of dimensions in memory than row-major"};
    }
    present[index] = true;
  }
  std::vector<std::size_t> touched = method.reads;
  for (const StateWrite& write : method.writes) {
    touched.push_back(write.state);
  }
  for (const std::size_t index : touched) {
    if (!present[index]) {
      return Error{ErrorCode::kArtifact, "method '" + method.name + "': state '" +
                                             manifest.state[index].name +
                                             "' is not in the program"};
    }
  }
  return {};
}

Result<std::uint64_t> arena_size(const MethodMeta& meta, std::size_t arena,
                                 const std::string& method) {
  if (arena >= meta.num_memory_planned_buffers()) {
    return std::uint64_t{0};
  }
  const auto size = meta.memory_planned_buffer_size(arena);
  const auto device = meta.memory_planned_buffer_device(arena);
  if (!size.ok() || *size < 0 || *size > kMaxArenaBytes) {
    return Error{ErrorCode::kArtifact, "method '" + method + "' plans an arena of " +
                                           (size.ok() ? std::to_string(*size) : "unknown") +
                                           " bytes; the limit is " +
                                           std::to_string(kMaxArenaBytes)};
  }
  if (!device.ok() || !device->is_cpu()) {
    return Error{ErrorCode::kUnsupported,
                 "method '" + method + "' plans an arena on a device other than the CPU"};
  }
  return static_cast<std::uint64_t>(*size);
}

Status check_method(const MethodMeta& meta, const Manifest& manifest, const States& states,
                    const MethodSpec& method) {
  if (Status status = check_delegates(meta, method.name); !status) {
    return status;
  }
  if (Status status = check_signature(meta, method); !status) {
    return status;
  }
  if (Status status = check_states(meta, manifest, states, method); !status) {
    return status;
  }
  if (meta.num_memory_planned_buffers() > kArenas) {
    return Error{ErrorCode::kArtifact, "method '" + method.name + "' plans " +
                                           std::to_string(meta.num_memory_planned_buffers()) +
                                           " arenas; activations and state are 2"};
  }
  return {};
}

}  // namespace

Result<ArenaSizes> check_program(const Program& program, const Manifest& manifest) {
  for (const std::string& name : manifest.program.operators) {
    if (!is_registered(name)) {
      return Error{ErrorCode::kUnsupported,
                   "the program needs the operator '" + name + "', which this build lacks"};
    }
  }
  ArenaSizes sizes;
  const States states = states_of(manifest);
  for (const MethodSpec& method : manifest.methods) {
    const auto meta = program.method_meta(method.name.c_str());
    if (!meta.ok()) {
      return Error{ErrorCode::kArtifact,
                   "method '" + method.name + "' is in manifest.json, but not in the program"};
    }
    if (const Status status = check_method(*meta, manifest, states, method); !status) {
      return status.error();
    }
    const Result<std::uint64_t> activations = arena_size(*meta, 0, method.name);
    if (!activations) {
      return activations.error();
    }
    const Result<std::uint64_t> state = arena_size(*meta, 1, method.name);
    if (!state) {
      return state.error();
    }
    sizes.activations = std::max(sizes.activations, *activations);
    sizes.state = std::max(sizes.state, *state);
  }
  return sizes;
}

}  // namespace polystate
