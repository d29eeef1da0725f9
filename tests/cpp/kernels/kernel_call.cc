#include "kernels/kernel_call.h"

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/program_arguments.h"
#include "engine/executorch/operators/register.h"
#include "kernels/arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

using executorch::runtime::EValue;

executorch::aten::Tensor KernelCall::view(const Tensor& tensor,
                                          const std::vector<std::int64_t>& order) {
  std::vector<executorch::aten::DimOrderType> dim_order(tensor.shape().size());
  std::iota(dim_order.begin(), dim_order.end(), 0);
  if (!order.empty()) {
    dim_order.assign(order.begin(), order.end());
  }
  std::vector<executorch::aten::SizesType> sizes(tensor.shape().begin(), tensor.shape().end());
  views_.push_back(executorch::extension::make_tensor_ptr(
      std::move(sizes), const_cast<std::byte*>(tensor.bytes().data()), std::move(dim_order), {},
      scalar_type_of(tensor.dtype())));
  return *views_.back();
}

KernelCall& KernelCall::push(const EValue& value) {
  values_.push_back(value);
  return *this;
}

KernelCall& KernelCall::tensor(const Tensor& tensor, const std::vector<std::int64_t>& order) {
  return push(EValue(view(tensor, order)));
}

KernelCall& KernelCall::tensors(const std::vector<std::optional<Tensor>>& tensors) {
  List& list = lists_.emplace_back();
  for (const std::optional<Tensor>& tensor : tensors) {
    if (tensor.has_value()) {
      list.values.emplace_back(view(*tensor, {}));
    }
    list.pointers.push_back(tensor.has_value() ? &list.values.back() : nullptr);
  }
  list.unwrapped.resize(tensors.size());
  list.boxed.emplace(list.pointers.data(), list.unwrapped.data(), static_cast<int>(tensors.size()));
  return push(EValue(&*list.boxed));
}

KernelCall& KernelCall::optional(const std::optional<Tensor>& tensor) {
  return push(tensor ? EValue(view(*tensor, {})) : EValue());
}

KernelCall& KernelCall::number(double value) { return push(EValue(value)); }

KernelCall& KernelCall::integer(std::int64_t value) { return push(EValue(value)); }

KernelCall& KernelCall::boolean(bool value) { return push(EValue(value)); }

KernelCall& KernelCall::text(std::string value) {
  const std::string& kept = texts_.emplace_back(std::move(value));
  return push(EValue(&text_views_.emplace_back(kept.data(), kept.size())));
}

executorch::runtime::Error KernelCall::run(std::size_t result) {
  register_kernels();
  const auto kernel = executorch::runtime::get_op_function_from_registry(name_.c_str());
  if (!kernel.ok()) {
    return kernel.error();
  }
  std::vector<EValue*> values = stack(result);
  executorch::runtime::KernelRuntimeContext context;
  const executorch::runtime::OpFunction call = *kernel;
  call(context, {values.data(), values.size()});
  return context.failure_state();
}

Result<Tensor> KernelCall::into(const Tensor& out,
                                const std::function<Status(Arguments&)>& kernel) {
  const std::vector<EValue*> values = tensor(out).stack(0);
  ProgramArguments arguments(values, values.size() - 1);
  if (const Status status = kernel(arguments); !status) return status.error();
  return out;
}

std::vector<EValue*> KernelCall::stack(std::size_t result) {
  std::vector<EValue*> stack;
  stack.reserve(values_.size() + 1);
  for (EValue& value : values_) {
    stack.push_back(&value);
  }
  stack.push_back(&values_[result]);
  return stack;
}

}  // namespace polystate
