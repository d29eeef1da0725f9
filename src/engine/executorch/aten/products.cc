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

using Shape = std::vector<std::int64_t>;

// The result's shape, of operands [..., m, k] and [..., k, n] of one type, row by row.
Result<Shape> product_shape(ProgramArguments& arguments, int rank) {
  const TensorArgument left = arguments.tensor(0);
  const TensorArgument right = arguments.tensor(1);
  const TensorArgument out = arguments.tensor(2);
  if (!arguments.status()) return arguments.status().error();
  if (left.rank() != rank || right.rank() != rank || out.rank() != rank) {
    return refused("the operands are no matrices");
  }
  if (left.dtype() != right.dtype() || left.dtype() != out.dtype()) {
    return refused("the operands differ in type");
  }
  if (!left.is_row_major() || !right.is_row_major() || !out.is_row_major()) {
    return refused("an operand does not lie row by row");
  }
  if (left.size(rank - 1) != right.size(rank - 2) || (rank == 3 && left.size(0) != right.size(0))) {
    return refused("the operands' sizes do not fit each other");
  }
  Shape shape(left.shape().begin(), left.shape().end());
  shape.back() = right.size(rank - 1);
  return shape;
}

// `out`, resized, with the bias in each row or zeros.
Status fill(ProgramArguments& arguments, std::size_t out, const Result<Shape>& shape,
            const std::optional<TensorArgument>& bias) {
  if (!shape) return shape.error();
  const Result<TensorArgument> result = arguments.result_at(out, *shape);
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

template <int kRank>
struct Product {
  static Result<Shape> shape(ProgramArguments& arguments) {
    return product_shape(arguments, kRank);
  }
  static Status run(ProgramArguments& arguments) {
    return fill(arguments, 2, shape(arguments), std::nullopt);
  }
};

struct Mm : Product<2> {
  static constexpr char kOfExecuTorch[] = "aten::mm.out";
  static constexpr OperatorSchema kSchema{
      "polystate_aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"};
};

struct Bmm : Product<3> {
  static constexpr char kOfExecuTorch[] = "aten::bmm.out";
  static constexpr OperatorSchema kSchema{
      "polystate_aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"};
};

struct Linear {
  static constexpr char kOfExecuTorch[] = "aten::linear.out";
  static constexpr OperatorSchema kSchema{
      "polystate_aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) "
      "out) -> Tensor(a!)"};
  static Result<Shape> shape(ProgramArguments& arguments) {
    const TensorArgument input = arguments.tensor(0);
    const TensorArgument weight = arguments.tensor(1);
    const std::optional<TensorArgument> bias = arguments.optional_tensor(2);
    const TensorArgument out = arguments.tensor(3);
    if (!arguments.status()) return arguments.status().error();
    if (input.rank() < 1 || weight.rank() != 2 || out.rank() != input.rank() ||
        input.size(input.rank() - 1) != weight.size(1)) {
      return refused("input and weight do not fit each other");
    }
    if (input.dtype() != weight.dtype() || input.dtype() != out.dtype() ||
        (bias && bias->dtype() != out.dtype())) {
      return refused("the operands differ in type");
    }
    if (bias && (bias->rank() != 1 || bias->size(0) != weight.size(0) || !bias->is_row_major())) {
      return refused("bias is not a number for each row of the weight");
    }
    if (!input.is_row_major() || !weight.is_row_major() || !out.is_row_major()) {
      return refused("an operand does not lie row by row");
    }
    Shape shape(input.shape().begin(), input.shape().end());
    shape.back() = weight.size(0);
    return shape;
  }
  static Status run(ProgramArguments& arguments) {
    return fill(arguments, 3, shape(arguments), arguments.optional_tensor(2));
  }
};

bool is_empty(const EValue& value) { return value.isTensor() && value.toTensor().numel() == 0; }

// Calls ExecuTorch's kernel where both operands have elements.
template <typename Operator>
void multiply(KernelRuntimeContext& context, Span<EValue*> stack) {
  static const auto kernel =
      executorch::runtime::get_op_function_from_registry(Operator::kOfExecuTorch);
  ProgramArguments arguments({stack.data(), stack.size()}, Operator::kSchema.argument_count());
  const bool is_possible = arguments.status() && Operator::shape(arguments);
  if (is_possible && !is_empty(*stack[0]) && !is_empty(*stack[1]) && kernel.ok()) {
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
