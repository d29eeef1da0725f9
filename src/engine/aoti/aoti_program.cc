#include "engine/aoti/aoti_program.h"

#include <torch/csrc/inductor/aoti_runtime/interface.h>
#include <torch/csrc/inductor/aoti_runtime/utils.h>
#include <torch/csrc/inductor/aoti_torch/c/macros.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/aoti/method_library.h"
#include "engine/aoti/processor.h"
#include "engine/aoti/pt2_archive.h"
#include "engine/aoti/tensor_handle.h"
#include "engine/state_layout.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

std::vector<std::size_t> touched_states(const MethodSpec& spec) {
  std::set<std::size_t> touched(spec.reads.begin(), spec.reads.end());
  for (const StateWrite& write : spec.writes) touched.insert(write.state);
  return {touched.begin(), touched.end()};
}

// The outputs of the library: those that the manifest names. It may have more that nobody asks for.
std::size_t named_outputs(const MethodSpec& spec) {
  std::size_t count = 0;
  for (const OutputSpec& output : spec.outputs) count = std::max(count, output.program_output + 1);
  for (const InputSpec& input : spec.inputs) {
    if (input.written_from) count = std::max(count, *input.written_from + 1);
  }
  return count;
}

// AOTInductor counts the bytes of weights so.
std::size_t aligned(std::size_t bytes) {
  return (bytes + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
}

}  // namespace

AotiMethod::AotiMethod(const MethodSpec& spec, MethodLibrary library)
    : spec_(&spec), library_(std::move(library)), states_(touched_states(spec)) {}

Result<AotiMethod> AotiMethod::load(const MethodSpec& spec, const PackedMethod& packed) {
  Result<MethodLibrary> library = MethodLibrary::load(spec.name, packed.library.bytes());
  if (!library) return library.error();
  AotiMethod method(spec, *std::move(library));
  const Result<Container> container = method.new_container();
  if (!container) return container.error();
  if (const Status right = method.check_arguments(container->get()); !right) return right.error();
  if (const Status found = method.find_constants(container->get(), packed); !found)
    return found.error();
  return method;
}

Error AotiMethod::failed(const std::string& what) const {
  const std::string reason = library_.last_error();
  return Error{ErrorCode::kEngine,
               "method '" + spec_->name + "' " + what + (reason.empty() ? "" : ": " + reason)};
}

Result<AotiMethod::Container> AotiMethod::new_container() const {
  AOTInductorModelContainerHandle handle = nullptr;
  if (library_.create(&handle, 1, "cpu", nullptr) != AOTI_RUNTIME_SUCCESS) {
    return failed("cannot be made ready");
  }
  Container container(handle, Destroy{library_.destroy});
  std::vector<AOTInductorConstantMapEntry> entries;
  entries.reserve(constants_.size());
  for (const Constant& constant : constants_) {
    entries.push_back({constant.name.c_str(), constant.value.get()});
  }
  if (!entries.empty() && library_.set_constants(handle, entries.data(), entries.size(), false,
                                                 true) != AOTI_RUNTIME_SUCCESS) {
    return failed("does not take its weights");
  }
  return container;
}

Status AotiMethod::check_arguments(AOTInductorModelContainerHandle container) {
  std::size_t inputs = 0;
  if (library_.count_inputs(container, &inputs) != AOTI_RUNTIME_SUCCESS ||
      library_.count_outputs(container, &output_count_) != AOTI_RUNTIME_SUCCESS) {
    return failed("does not say what it takes");
  }
  const std::size_t expected = states_.size() + spec_->inputs.size();
  if (inputs != expected || output_count_ < named_outputs(*spec_)) {
    return Error{ErrorCode::kArtifact,
                 "the library of method '" + spec_->name + "' has " + std::to_string(inputs) +
                     " inputs and " + std::to_string(output_count_) + " outputs, not " +
                     std::to_string(expected) + " and " + std::to_string(named_outputs(*spec_))};
  }
  return {};
}

Status AotiMethod::find_constants(AOTInductorModelContainerHandle container,
                                  const PackedMethod& packed) {
  std::size_t count = 0;
  if (library_.count_constants(container, &count) != AOTI_RUNTIME_SUCCESS) {
    return failed("does not say which weights it wants");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    const char* fqn = nullptr;
    std::int32_t dtype = 0;
    std::size_t bytes = 0;
    if (library_.constant_name(container, i, &name) != AOTI_RUNTIME_SUCCESS ||
        library_.constant_fqn(container, i, &fqn) != AOTI_RUNTIME_SUCCESS ||
        library_.constant_dtype(container, i, &dtype) != AOTI_RUNTIME_SUCCESS ||
        library_.constant_bytes(container, i, &bytes) != AOTI_RUNTIME_SUCCESS) {
      return failed("does not say which weights it wants");
    }
    const auto stored = packed.constants.find(fqn);
    if (stored == packed.constants.end() || torch_dtype_of(stored->second.dtype()) != dtype ||
        aligned(stored->second.byte_count()) != aligned(bytes)) {
      return Error{ErrorCode::kArtifact,
                   "the library of method '" + spec_->name + "' wants a weight '" + fqn + "' of " +
                       std::to_string(bytes) + " bytes, which the archive does not have"};
    }
    const Tensor& weight = stored->second;
    // A library only reads its constants.
    auto* const data = const_cast<std::byte*>(weight.bytes().data());
    Result<TensorHandle> value = view_of(weight.dtype(), weight.shape(), data);
    if (!value) return value.error();
    constants_.push_back({name, *std::move(value)});
  }
  return {};
}

Result<std::vector<SharedTensor>> AotiMethod::run(AOTInductorModelContainerHandle container,
                                                  std::vector<TensorHandle> inputs) const {
  std::vector<AtenTensorHandle> taken;
  taken.reserve(inputs.size());
  for (TensorHandle& input : inputs) taken.push_back(input.release());
  std::vector<AtenTensorHandle> given(output_count_, nullptr);
  const AOTIRuntimeError error = library_.run(container, taken.data(), taken.size(), given.data(),
                                              given.size(), nullptr, nullptr);
  std::vector<SharedTensor> outputs;
  outputs.reserve(given.size());
  for (AtenTensorHandle output : given) {
    const auto same = std::ranges::find(outputs, output, &SharedTensor::get);
    outputs.push_back(same == outputs.end() ? SharedTensor(output, DeleteTensor()) : *same);
  }
  if (error != AOTI_RUNTIME_SUCCESS) return failed("failed");
  return outputs;
}

Result<std::shared_ptr<const AotiProgram>> AotiProgram::load(const Artifact& artifact) {
  std::shared_ptr<AotiProgram> program(new AotiProgram(artifact));
  const std::string& file = artifact.manifest().program.file;
  Result<Pt2Archive> archive = Pt2Archive::read(program->bytes(), program->manifest());
  if (!archive) return Error{archive.error().code, file + ": " + archive.error().message};
  program->archive_ = *std::move(archive);
  if (const Status able = check_processor(program->archive_.processor); !able) {
    return Error{able.error().code, file + ": " + able.error().message};
  }
  MethodLibrary::remove_abandoned();
  for (std::size_t i = 0; i < program->manifest().methods.size(); ++i) {
    Result<AotiMethod> method =
        AotiMethod::load(program->manifest().methods[i], program->archive_.methods[i]);
    if (!method) {
      const Error& error = method.error();
      if (error.code == ErrorCode::kIo) return error;  // the file is not to blame
      return Error{error.code, file + ": " + error.message};
    }
    program->methods_.push_back(*std::move(method));
  }
  program->lay_out_state();
  return std::shared_ptr<const AotiProgram>(std::move(program));
}

void AotiProgram::lay_out_state() {
  std::vector<StatePlace> places;
  auto initial = archive_.initial.begin();
  for (const StateSpec& state : manifest().state) {
    const std::size_t size =
        element_count(state.dtype, state.shape).value_or(0) * size_of(state.dtype);
    StatePlace place{state_bytes_, size, {}};
    if (!state.zeros) {
      const std::span<const std::byte> bytes = (initial++)->bytes();
      place.initial.assign(bytes.begin(), bytes.end());
    }
    places.push_back(std::move(place));
    state_bytes_ += aligned(size);
  }
  layout_ = StateLayout(std::move(places));
}

}  // namespace polystate
