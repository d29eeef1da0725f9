#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/executorch/log_capture.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/program_arguments.h"
#include "engine/executorch/operators/register.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/operators.h"

namespace polystate {
namespace {

using executorch::runtime::BoxedEvalueList;
using executorch::runtime::EValue;
using OptionalTensor = std::optional<EtTensor>;

// The values of one call, and the memory that they point to.
class Values {
 public:
  explicit Values(std::span<const OperatorArgument> arguments) {
    for (const OperatorArgument& argument : arguments) {
      values_.push_back(
          std::visit([this](const auto& given) { return value_of(given); }, argument));
    }
  }

  // As a kernel wants them: the arguments, then a result.
  std::vector<EValue*> stack() {
    std::vector<EValue*> stack;
    stack.reserve(values_.size() + 1);
    for (EValue& value : values_) stack.push_back(&value);
    stack.push_back(&values_.back());
    return stack;
  }

  EtTensor tensor(std::size_t index) { return values_[index].toTensor(); }

 private:
  EValue value_of(std::monostate /*none*/) { return {}; }
  EValue value_of(bool value) { return {value}; }
  EValue value_of(std::int64_t value) { return {value}; }
  EValue value_of(double value) { return {value}; }
  EValue value_of(const Tensor& tensor) { return {view(tensor)}; }
  EValue value_of(const std::string& text) {
    return {&texts_.emplace_back(text.data(), text.size())};
  }

  EValue value_of(const std::vector<std::int64_t>& integers) {
    std::vector<EValue> elements(integers.begin(), integers.end());
    return list(std::move(elements), integers_);
  }
  EValue value_of(const std::vector<double>& numbers) {
    const std::vector<double>& kept = kept_numbers_.emplace_back(numbers);
    return {&numbers_.emplace_back(kept.data(), kept.size())};
  }
  EValue value_of(const std::vector<Tensor>& tensors) {
    std::vector<EValue> elements;
    elements.reserve(tensors.size());
    for (const Tensor& tensor : tensors) elements.emplace_back(view(tensor));
    return list(std::move(elements), tensors_);
  }
  EValue value_of(const std::vector<std::optional<Tensor>>& tensors) {
    std::vector<EValue> elements;
    elements.reserve(tensors.size());
    for (const std::optional<Tensor>& tensor : tensors) {
      elements.push_back(tensor ? EValue(view(*tensor)) : EValue());
    }
    return list(std::move(elements), optional_tensors_);
  }

  template <typename T>
  struct List {
    std::vector<EValue> elements;
    std::vector<EValue*> pointers;
    std::vector<T> unwrapped;
    BoxedEvalueList<T> boxed;
  };

  template <typename T>
  EValue list(std::vector<EValue> elements, std::deque<List<T>>& kept) {
    List<T>& list = kept.emplace_back();
    list.elements = std::move(elements);
    for (EValue& element : list.elements) list.pointers.push_back(&element);
    if constexpr (std::is_same_v<T, EtTensor>) {
      list.unwrapped.resize(list.elements.size(), EtTensor(nullptr));
    } else {
      list.unwrapped.resize(list.elements.size());
    }
    // Also of an empty list, whose memory may not be null.
    list.pointers.reserve(1);
    list.unwrapped.reserve(1);
    list.boxed = BoxedEvalueList<T>(list.pointers.data(), list.unwrapped.data(),
                                    static_cast<int>(list.elements.size()));
    return {&list.boxed};
  }

  EtTensor view(const Tensor& tensor) {
    std::vector<executorch::aten::DimOrderType> order(tensor.shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<executorch::aten::SizesType> sizes(tensor.shape().begin(), tensor.shape().end());
    views_.push_back(executorch::extension::make_tensor_ptr(
        std::move(sizes), const_cast<std::byte*>(tensor.bytes().data()), std::move(order), {},
        scalar_type_of(tensor.dtype())));
    return *views_.back();
  }

  std::vector<executorch::extension::TensorPtr> views_;
  std::deque<executorch::aten::ArrayRef<char>> texts_;
  std::deque<std::vector<double>> kept_numbers_;
  std::deque<executorch::aten::ArrayRef<double>> numbers_;
  std::deque<List<std::int64_t>> integers_;
  std::deque<List<EtTensor>> tensors_;
  std::deque<List<OptionalTensor>> optional_tensors_;
  std::deque<EValue> values_;
};

}  // namespace

Result<std::vector<Shape>> call_operator(const std::string& name,
                                         std::span<const OperatorArgument> arguments,
                                         std::size_t results) {
  install_log_capture();
  register_kernels();
  const auto kernel = executorch::runtime::get_op_function_from_registry(name.c_str());
  if (!kernel.ok()) return Error{ErrorCode::kUnsupported, "there is no operator '" + name + "'"};
  if (arguments.empty() || results > arguments.size()) {
    return Error{ErrorCode::kContract, name + " is called with " +
                                           std::to_string(arguments.size()) + " arguments, " +
                                           std::to_string(results) + " of them for results"};
  }
  const std::size_t first = arguments.size() - results;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    if (!std::holds_alternative<Tensor>(arguments[i])) {
      return Error{ErrorCode::kContract, "result " + std::to_string(i - first) + " is no tensor"};
    }
  }
  Values values(arguments);
  std::vector<EValue*> stack = values.stack();
  executorch::extension::MallocMemoryAllocator temporary;
  executorch::runtime::KernelRuntimeContext context(nullptr, &temporary);
  const LogCapture log;
  const executorch::runtime::OpFunction call = *kernel;
  call(context, {stack.data(), stack.size()});
  if (context.failure_state() != executorch::runtime::Error::Ok) {
    return Error{ErrorCode::kEngine, name + " failed: " + log.errors()};
  }
  std::vector<Shape> shapes;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    shapes.push_back(sizes_of(values.tensor(i)));
  }
  return shapes;
}

}  // namespace polystate
