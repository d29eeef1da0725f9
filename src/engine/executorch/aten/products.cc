#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

// Products of matrices. ExecuTorch's own kernels leave the result as it was where they sum nothing,
// and print errors of their BLAS where there is nothing to compute.
namespace polystate {
namespace {

using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::OpFunction;
using executorch::runtime::Span;

// `out`, resized, with the bias in each row or zeros.
Status fill(ProgramArguments& arguments, std::size_t out, std::span<const std::int64_t> shape,
            const std::optional<TensorArgument>& bias) {
  const Result<TensorArgument> result = arguments.result_at(out, shape);
  if (!result) return result.error();
  return with_element_type(result->dtype(), [&]<typename T>() -> Status {
    const std::span<T> elements = polystate::elements<T>(*result);
    std::ranges::fill(elements, T{});
    if (!bias || elements.empty()) return {};
    const std::span<const T> row = polystate::elements<const T>(*bias);
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = row[i % row.size()];
    return {};
  });
}

struct Mm {
  static constexpr char kOfExecuTorch[] = "aten::mm.out";
  static constexpr OperatorSchema kSchema{
      "polystate_aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument left = arguments.tensor(0);
    const TensorArgument right = arguments.tensor(1);
    if (!arguments.status()) return arguments.status();
    return fill(arguments, 2, std::array{left.size(0), right.size(1)}, std::nullopt);
  }
};

struct Bmm {
  static constexpr char kOfExecuTorch[] = "aten::bmm.out";
  static constexpr OperatorSchema kSchema{
      "polystate_aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument left = arguments.tensor(0);
    const TensorArgument right = arguments.tensor(1);
    if (!arguments.status()) return arguments.status();
    const std::array shape{left.size(0), left.size(1), right.size(2)};
    return fill(arguments, 2, shape, std::nullopt);
  }
};

struct Linear {
  static constexpr char kOfExecuTorch[] = "aten::linear.out";
  static constexpr OperatorSchema kSchema{
      "polystate_aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) "
      "out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument input = arguments.tensor(0);
    const TensorArgument weight = arguments.tensor(1);
    const std::optional<TensorArgument> bias = arguments.optional_tensor(2);
    if (!arguments.status()) return arguments.status();
    std::vector<std::int64_t> shape(input.shape().begin(), input.shape().end());
    shape.back() = weight.size(0);
    return fill(arguments, 3, shape, bias);
  }
};

bool is_empty(const EValue& value) { return value.isTensor() && value.toTensor().numel() == 0; }

// Calls ExecuTorch's kernel where both operands have elements.
template <typename Operator>
void multiply(KernelRuntimeContext& context, Span<EValue*> stack) {
  static const auto kernel =
      executorch::runtime::get_op_function_from_registry(Operator::kOfExecuTorch);
  const bool is_theirs = stack.size() > 1 && !is_empty(*stack[0]) && !is_empty(*stack[1]);
  if (is_theirs && kernel.ok()) {
    const OpFunction function = *kernel;
    function(context, stack);
  } else {
    call<Operator>(context, stack);
  }
}

template <typename... Operators>
std::span<const ListedOperator> multiplying() {
  static const std::array list = {
      ListedOperator{Operators::kSchema, name_of<Operators>(), &multiply<Operators>}...};
  return list;
}

}  // namespace

std::span<const ListedOperator> product_operators() { return multiplying<Mm, Bmm, Linear>(); }

}  // namespace polystate
