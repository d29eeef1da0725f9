#include "engine/executorch/loaded_method.h"

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/strides.h"
#include "engine/arena.h"
#include "engine/executorch/log_capture.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/program_arguments.h"
#include "engine/executorch/output_memory.h"
#include "engine/input_writes.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

using executorch::aten::DimOrderType;
using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::aten::TensorImpl;
using executorch::runtime::EValue;
using EtError = executorch::runtime::Error;

constexpr std::size_t kMaxRank = executorch::runtime::kTensorDimensionLimit;

// How far XNNPACK's kernels may read past the last element (its XNN_EXTRA_BYTES).
constexpr std::size_t kOverreadBytes = 128;
// The smallest page that there is: memory continues at least to the end of one.
constexpr std::size_t kPageBytes = 4096;

executorch::runtime::Span<std::uint8_t> as_span(const Arena& arena) {
  return {reinterpret_cast<std::uint8_t*>(arena.bytes().data()), arena.bytes().size()};
}

// Whether what a kernel reads past the end may lie on a page that is not there.
bool may_be_overread(std::span<const std::byte> bytes) {
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size());
  return (kPageBytes - end % kPageBytes) % kPageBytes < kOverreadBytes;
}

// What ExecuTorch logged, or its error code where it logged nothing.
std::string reason(const LogCapture& log, EtError error) {
  return log.errors().empty() ? executorch::runtime::to_string(error) : log.errors();
}

// Copies elements from any order of dimensions in memory to row-major order.
void copy_row_major(const EtTensor& from, const Tensor& to) {
  const Strides from_strides = byte_strides(from);
  const Strides elements = row_major_strides(to.shape());
  std::vector<CopyDimension> dimensions;
  dimensions.reserve(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    dimensions.push_back({to.shape()[i], elements[i] * from.element_size(), from_strides[i]});
  }
  copy_elements(dimensions, static_cast<std::size_t>(from.element_size()),
                to.mutable_bytes().data(), data_of(from));
}

}  // namespace

LoadedMethod::Memory::Memory(SessionMemory& session)
    : arenas{as_span(session.activations), as_span(session.state)},
      planned({arenas.data(), arenas.size()}),
      manager(&structures, &planned, &session.temporary) {}

LoadedMethod::LoadedMethod(const MethodSpec& spec, std::unique_ptr<Memory> memory,
                           executorch::runtime::Method method)
    : spec_(&spec), memory_(std::move(memory)), method_(std::move(method)) {}

Result<LoadedMethod> LoadedMethod::load(const executorch::runtime::Program& program,
                                        const MethodSpec& spec, SessionMemory& memory,
                                        executorch::runtime::EventTracer* tracer) {
  const LogCapture log;
  auto own = std::make_unique<Memory>(memory);
  auto method = program.load_method(spec.name.c_str(), &own->manager, tracer);
  if (!method.ok()) {
    const bool unsupported = method.error() == EtError::OperatorMissing ||
                             method.error() == EtError::NotSupported ||
                             method.error() == EtError::DelegateInvalidCompatibility;
    return Error{unsupported ? ErrorCode::kUnsupported : ErrorCode::kArtifact,
                 "method '" + spec.name + "' cannot be loaded: " + reason(log, method.error())};
  }
  return LoadedMethod(spec, std::move(own), std::move(*method));
}

std::optional<std::span<std::byte>> LoadedMethod::find_buffer(const std::string& name) {
  const LogCapture log;
  const auto buffer = method_.get_attribute(name);
  if (!buffer.ok()) {
    return {};
  }
  return std::span(data_of(*buffer), buffer->nbytes());
}

Status LoadedMethod::set_inputs(std::span<const Tensor> inputs) {
  const LogCapture log;
  if (inputs.size() != spec_->inputs.size()) {
    return Error{ErrorCode::kContract, "method '" + spec_->name + "' takes " +
                                           std::to_string(spec_->inputs.size()) + " inputs, not " +
                                           std::to_string(inputs.size())};
  }
  padded_inputs_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (const Status status = set_input(i, inputs[i]); !status) {
      return Error{status.error().code, input_label(*spec_, i) + ": " + status.error().message};
    }
  }
  return require_output_memory();
}

Status LoadedMethod::require_output_memory() const {
  for (std::size_t i = 0; i < method_.outputs_size(); ++i) {
    const EValue& output = method_.get_output(i);
    if (output.isTensor() && output.toTensor().nbytes() > 0 &&
        output.toTensor().const_data_ptr() == nullptr) {
      return Error{ErrorCode::kArtifact, "method '" + spec_->name +
                                             "': the program plans no memory for its output " +
                                             std::to_string(i)};
    }
  }
  return {};
}

Status LoadedMethod::set_input(std::size_t index, const Tensor& input) {
  const Shape& shape = input.shape();
  if (shape.size() > kMaxRank) {
    return Error{ErrorCode::kEngine, std::to_string(shape.size()) +
                                         " dimensions are more than the engine's " +
                                         std::to_string(kMaxRank)};
  }
  std::array<SizesType, kMaxRank> sizes;
  std::array<DimOrderType, kMaxRank> order;
  std::array<StridesType, kMaxRank> strides;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (std::max(shape[i], stride) > std::numeric_limits<SizesType>::max()) {
      return Error{ErrorCode::kEngine,
                   "shape " + to_string(shape) + " is beyond the engine's 32-bit sizes"};
    }
    sizes[i] = static_cast<SizesType>(shape[i]);
    order[i] = static_cast<DimOrderType>(i);
    strides[i] = static_cast<StridesType>(stride);
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  std::span<const std::byte> bytes = input.bytes();
  if (may_be_overread(bytes)) {
    std::vector<std::byte>& padded = padded_inputs_.emplace_back(bytes.size() + kOverreadBytes);
    std::ranges::copy(bytes, padded.begin());
    bytes = padded;
  }
  // The engine takes a pointer to memory that it could write; a functional program only reads its
  // inputs.
  auto* const data = const_cast<std::byte*>(bytes.data());
  TensorImpl view(scalar_type_of(input.dtype()), static_cast<ssize_t>(shape.size()), sizes.data(),
                  data, order.data(), strides.data());
  const LogCapture log;
  const EtError error = method_.set_input(EValue(EtTensor(&view)), index);
  return error == EtError::Ok ? Status() : Error{ErrorCode::kEngine, reason(log, error)};
}

Status LoadedMethod::execute() {
  const LogCapture log;
  const EtError error = method_.execute();
  return error == EtError::Ok ? Status()
                              : Error{ErrorCode::kEngine,
                                      "method '" + spec_->name + "' failed: " + reason(log, error)};
}

Result<std::vector<Tensor>> LoadedMethod::outputs() {
  return collect_outputs(&LoadedMethod::copy_output);
}

Result<std::vector<Tensor>> LoadedMethod::borrowed_outputs() {
  return collect_outputs(&LoadedMethod::borrow_output);
}

Result<std::vector<Tensor>> LoadedMethod::collect_outputs(OutputOf output_of) {
  std::vector<Tensor> outputs;
  outputs.reserve(spec_->outputs.size());
  for (const OutputSpec& spec : spec_->outputs) {
    Result<Tensor> output = (this->*output_of)(spec.program_output);
    if (!output) {
      return output.error();
    }
    outputs.push_back(std::move(*output));
  }
  return outputs;
}

Result<InputWrites> LoadedMethod::input_writes(std::span<const Tensor> inputs) {
  return InputWrites::collect(*spec_, inputs,
                              [this](std::size_t output) { return copy_output(output); });
}

Result<Tensor> LoadedMethod::borrow_output(std::size_t program_output) {
  const EtTensor& output = method_.get_output(program_output).toTensor();
  const std::optional<DType> dtype = dtype_of(output.scalar_type());
  std::byte* const data = data_of(output);
  const auto activations =
      std::as_writable_bytes(std::span(memory_->arenas[0].begin(), memory_->arenas[0].size()));
  // It may also be a constant, a state or an input, which are not the caller's to overwrite.
  const bool is_ours = data >= activations.data() && data < activations.data() + activations.size();
  if (!dtype.has_value() || !is_ours || !std::ranges::is_sorted(output.dim_order())) {
    return copy_output(program_output);
  }
  return Tensor::borrow(*dtype, sizes_of(output), data);
}

Result<Tensor> LoadedMethod::copy_output(std::size_t program_output) {
  const EtTensor& output = method_.get_output(program_output).toTensor();
  const std::optional<DType> dtype = dtype_of(output.scalar_type());
  if (!dtype.has_value()) {
    return Error{ErrorCode::kUnsupported, "method '" + spec_->name + "' returns elements of " +
                                              type_text(output.scalar_type())};
  }
  Result<Tensor> copy = output_memory_.tensor(*dtype, sizes_of(output));
  if (copy) {
    copy_row_major(output, *copy);
  }
  return copy;
}

}  // namespace polystate
