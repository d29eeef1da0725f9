#include "engine/aoti/aoti_session.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/aoti/aoti_program.h"
#include "engine/aoti/kernel_recorder.h"
#include "engine/aoti/operator_failure.h"
#include "engine/aoti/tensor_handle.h"
#include "engine/aoti/thread_scope.h"
#include "engine/arena.h"
#include "engine/check_error.h"
#include "engine/input_writes.h"
#include "kernels/check_failure.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/options.h"

namespace polystate {
namespace {

using Bytes = std::span<const std::byte>;

bool overlap(Bytes left, Bytes right) {
  const std::less<const std::byte*> before;  // a total order, unlike that of pointers
  return before(left.data(), right.data() + right.size()) &&
         before(right.data(), left.data() + left.size());
}

// What a run returned, given to the caller.
class Outputs {
 public:
  // `foreign` is memory that outputs may lie in and that is not the caller's.
  Outputs(const MethodSpec& spec, std::vector<SharedTensor> values, std::vector<Bytes> foreign)
      : spec_(spec), values_(std::move(values)), foreign_(std::move(foreign)) {}

  // Output `index` of the library, as a copy.
  [[nodiscard]] Result<Tensor> copy(std::size_t index) const {
    const Result<TensorView> found = view_at(index);
    return found ? copy_of(*found) : Result<Tensor>(found.error());
  }

  // The same, in libtorch's own memory where that is the output's alone.
  Result<Tensor> take(std::size_t index, DType dtype) {
    const Result<TensorView> found = view_at(index);
    if (!found) return found.error();
    if (found->dtype != dtype) {
      return Error{ErrorCode::kArtifact, "method '" + spec_.name + "' gave elements of type " +
                                             std::string(name_of(found->dtype)) + ", not " +
                                             std::string(name_of(dtype))};
    }
    const std::size_t count = element_count(dtype, found->shape).value_or(0);
    const Bytes bytes(found->data, count * size_of(dtype));
    const auto shared = [bytes](Bytes other) { return overlap(bytes, other); };
    if (count == 0 || !is_row_major(*found) || std::ranges::any_of(foreign_, shared)) {
      return copy_of(*found);
    }
    foreign_.push_back(bytes);
    return Tensor::adopt(dtype, found->shape, found->data, values_[index]);
  }

 private:
  [[nodiscard]] Result<TensorView> view_at(std::size_t index) const {
    if (values_[index] != nullptr) return view(values_[index].get());
    return Error{ErrorCode::kEngine,
                 "method '" + spec_.name + "' gave no output " + std::to_string(index)};
  }

  const MethodSpec& spec_;
  std::vector<SharedTensor> values_;
  std::vector<Bytes> foreign_;
};

}  // namespace

Result<std::unique_ptr<AotiSession>> AotiSession::create(std::shared_ptr<const AotiProgram> program,
                                                         const SessionOptions& options) {
  if (options.profile && !program->tells_kernels()) {
    return Error{ErrorCode::kUnsupported,
                 "the machine code does not say when its kernels begin and end; export it for that "
                 "(profile=True, or polystate-export --profile)"};
  }
  Result<Arena> state = Arena::create(program->state_bytes());
  if (!state) return state.error();
  std::unique_ptr<AotiSession> session(
      new AotiSession(std::move(program), *std::move(state), options));
  for (const AotiMethod& method : session->program_->methods()) {
    Result<AotiMethod::Container> container = method.new_container();
    if (!container) return container.error();
    session->containers_.push_back(*std::move(container));
  }
  session->reset();
  return session;
}

void AotiSession::reset() {
  program_->layout().initialise(state_);
  state_intact_ = true;
}

Result<std::vector<TensorHandle>> AotiSession::arguments(const AotiMethod& method,
                                                         std::span<const Tensor> inputs) {
  std::vector<TensorHandle> handles;
  const auto add = [&handles](Result<TensorHandle> handle) -> Status {
    if (!handle) return handle.error();
    handles.push_back(*std::move(handle));
    return {};
  };
  for (const std::size_t index : method.states()) {
    const StateSpec& spec = program_->manifest().state[index];
    if (const Status added = add(view_of(spec.dtype, spec.shape, state(index).data())); !added) {
      return added.error();
    }
  }
  for (const Tensor& input : inputs) {
    // A method only reads its inputs: what it makes of them are outputs.
    auto* const data = const_cast<std::byte*>(input.bytes().data());
    if (const Status added = add(view_of(input.dtype(), input.shape(), data)); !added) {
      return added.error();
    }
  }
  return handles;
}

Result<std::vector<std::byte>> AotiSession::take_profile() {
  return recorder_ ? recorder_->take() : std::vector<std::byte>();
}

Result<std::vector<Tensor>> AotiSession::run(std::size_t method, std::span<const Tensor> inputs) {
  const AotiMethod& called = program_->methods()[method];
  const MethodSpec& spec = called.spec();
  state_intact_ = true;
  Result<std::vector<TensorHandle>> handles = arguments(called, inputs);
  if (!handles) return handles.error();
  (void)take_check_failure();
  (void)take_operator_failure();
  state_intact_ = spec.writes.empty();
  Result<std::vector<SharedTensor>> values = [&] {
    const ThreadScope threads(single_threaded_);
    std::optional<KernelRecorder::Call> recorded;
    if (recorder_) recorded.emplace(*recorder_, spec.name);
    return called.run(containers_[method].get(), *std::move(handles));
  }();
  if (!values) {
    const std::optional<CheckFailure> failure = take_check_failure();
    state_intact_ = spec.atomic || (failure.has_value() && spec.checks_first);
    if (failure) return check_error(spec, *failure);
    const std::optional<Error> refusal = take_operator_failure();
    if (!refusal) return values.error();
    return Error{refusal->code, "method '" + spec.name + "' failed: " + refusal->message};
  }
  std::vector<Bytes> foreign{state_.bytes(), program_->bytes()};
  for (const Tensor& input : inputs) foreign.push_back(input.bytes());
  Outputs outputs(spec, *std::move(values), std::move(foreign));
  const Result<InputWrites> writes =
      InputWrites::collect(spec, inputs, [&](std::size_t output) { return outputs.copy(output); });
  if (!writes) return writes.error();
  std::vector<Tensor> results;
  results.reserve(spec.outputs.size());
  for (const OutputSpec& output : spec.outputs) {
    Result<Tensor> result = outputs.take(output.program_output, output.dtype);
    if (!result) return result.error();
    results.push_back(*std::move(result));
  }
  writes->apply(inputs);
  state_intact_ = true;
  return results;
}

}  // namespace polystate
