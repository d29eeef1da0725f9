#pragma once

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// Calls an operator as a program does: its arguments in order, then the result.
class KernelCall {
 public:
  explicit KernelCall(std::string name) : name_(std::move(name)) {}
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // An argument over the tensor's own memory. `order`: its dimensions in memory, outermost first;
  // empty: row-major.
  KernelCall& tensor(const Tensor& tensor, const std::vector<std::int64_t>& order = {});
  KernelCall& tensors(const std::vector<std::optional<Tensor>>& tensors);
  KernelCall& optional(const std::optional<Tensor>& tensor);
  KernelCall& integer(std::int64_t value);
  KernelCall& number(double value);
  KernelCall& boolean(bool value);
  KernelCall& text(std::string value);

  // Ok when the operator is content. Its result is the argument at `result`.
  executorch::runtime::Error run(std::size_t result = 0);

  // Has a kernel work on these arguments and `out`, which is its result.
  Result<Tensor> into(const Tensor& out, const std::function<Status(Arguments&)>& kernel);

 private:
  // What a kernel is given: the arguments, then the one at `result` again.
  std::vector<executorch::runtime::EValue*> stack(std::size_t result);

  using OptionalTensor = std::optional<executorch::aten::Tensor>;
  using OptionalTensors = executorch::runtime::BoxedEvalueList<OptionalTensor>;

  executorch::aten::Tensor view(const Tensor& tensor, const std::vector<std::int64_t>& order);
  KernelCall& push(const executorch::runtime::EValue& value);

  // Everything that a value of the stack points to; addresses do not move.
  struct List {
    std::deque<executorch::runtime::EValue> values;
    std::vector<executorch::runtime::EValue*> pointers;
    std::vector<OptionalTensor> unwrapped;
    std::optional<OptionalTensors> boxed;
  };
  std::string name_;
  std::vector<executorch::extension::TensorPtr> views_;
  std::deque<List> lists_;
  std::deque<std::string> texts_;
  std::deque<executorch::aten::ArrayRef<char>> text_views_;
  std::deque<executorch::runtime::EValue> values_;
};

}  // namespace polystate
