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
#include "engine/executorch/aten/matrix_product.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Products of matrices. ExecuTorch's own kernels are slower, leave the result as it was where they
// sum nothing, and print errors of their BLAS where there is nothing to compute. The namespace is
// `polystate_aten` where that may be, so that no program has the other kernel in its place.
namespace polystate {
namespace {

using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::OpFunction;
using executorch::runtime::Span;

using Shape = std::vector<std::int64_t>;

// What is multiplied, and what that gives.
struct ProductOperands {
  TensorArgument left;                 // [count, rows, depth]
  TensorArgument right;                // [count, depth, columns], or turned
  std::optional<TensorArgument> bias;  // [columns]
  Shape shape;                         // of the result
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  bool is_right_transposed = false;

  [[nodiscard]] bool has_products() const {
    return count > 0 && rows > 0 && depth > 0 && columns > 0;
  }
};

// Of one type, row by row; `out` among them.
Status check(const ProductOperands& operands, const TensorArgument& out) {
  for (const TensorArgument* operand : {&operands.left, &operands.right}) {
    if (operand->dtype() != out.dtype()) return refused("the operands differ in type");
    if (!operand->is_row_major()) return refused("an operand does not lie row by row");
  }
  if (!out.is_row_major()) return refused("an operand does not lie row by row");
  return {};
}

// Two matrices, or as many pairs of them.
template <int kRank>
Result<ProductOperands> operands_of_pairs(ProgramArguments& arguments) {
  const TensorArgument left = arguments.tensor(0);
  const TensorArgument right = arguments.tensor(1);
  const TensorArgument out = arguments.tensor(2);
  if (!arguments.status()) return arguments.status().error();
  if (left.rank() != kRank || right.rank() != kRank || out.rank() != kRank) {
    return refused("the operands are no matrices");
  }
  ProductOperands found{.left = left, .right = right, .bias = std::nullopt, .shape = {}};
  found.count = kRank == 3 ? left.size(0) : 1;
  found.rows = left.size(kRank - 2);
  found.depth = left.size(kRank - 1);
  found.columns = right.size(kRank - 1);
  found.shape.assign(left.shape().begin(), left.shape().end());
  found.shape.back() = found.columns;
  if (const Status checked = check(found, out); !checked) return checked.error();
  if (found.depth != right.size(kRank - 2) || (kRank == 3 && found.count != right.size(0))) {
    return refused("the operands' sizes do not fit each other");
  }
  return found;
}

Result<ProductOperands> operands_of_linear(ProgramArguments& arguments) {
  const TensorArgument input = arguments.tensor(0);
  const TensorArgument weight = arguments.tensor(1);
  const std::optional<TensorArgument> bias = arguments.optional_tensor(2);
  const TensorArgument out = arguments.tensor(3);
  if (!arguments.status()) return arguments.status().error();
  if (input.rank() < 1 || weight.rank() != 2 || out.rank() != input.rank() ||
      input.size(input.rank() - 1) != weight.size(1)) {
    return refused("input and weight do not fit each other");
  }
  ProductOperands found{.left = input, .right = weight, .bias = bias, .shape = {}};
  found.depth = weight.size(1);
  found.rows = found.depth == 0 ? 0 : input.element_count() / found.depth;
  found.columns = weight.size(0);
  found.is_right_transposed = true;
  found.shape.assign(input.shape().begin(), input.shape().end());
  found.shape.back() = found.columns;
  if (const Status checked = check(found, out); !checked) return checked.error();
  if (bias && bias->dtype() != out.dtype()) return refused("the operands differ in type");
  if (bias && (bias->rank() != 1 || bias->size(0) != found.columns || !bias->is_row_major())) {
    return refused("bias is not a number for each row of the weight");
  }
  return found;
}

// Fills `out` with the bias in each row, or zeros.
void fill(const TensorArgument& out, const std::optional<TensorArgument>& bias) {
  with_element_type(out.dtype(), [&]<typename T>() {
    const std::span<T> elements = polystate::elements<T>(out);
    std::ranges::fill(elements, T{});
    if (!bias) return;
    const std::span<const T> row = polystate::elements<const T>(*bias);
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = row[i % row.size()];
  });
}

void multiply(const ProductOperands& operands, const TensorArgument& out) {
  const std::optional<TensorArgument>& bias = operands.bias;
  multiply_pairs({.left = operands.left.data<float>(),
                  .right = operands.right.data<float>(),
                  .bias = bias ? bias->data<float>() : nullptr,
                  .out = out.mutable_data<float>(),
                  .rows = operands.rows,
                  .depth = operands.depth,
                  .columns = operands.columns,
                  .is_right_transposed = operands.is_right_transposed},
                 operands.count);
}

struct Mm {
  static constexpr char kForm[] =
      "mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)";
  static constexpr char kOfExecuTorch[] = "aten::mm.out";
  static constexpr auto kRead = &operands_of_pairs<2>;
};

struct Bmm {
  static constexpr char kForm[] =
      "bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)";
  static constexpr char kOfExecuTorch[] = "aten::bmm.out";
  static constexpr auto kRead = &operands_of_pairs<3>;
};

struct Linear {
  static constexpr char kForm[] =
      "linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)";
  static constexpr char kOfExecuTorch[] = "aten::linear.out";
  static constexpr auto kRead = &operands_of_linear;
};

// An operator under a name of ours. Products of float32 are computed here, others by ExecuTorch's
// kernel.
template <typename Operator, const auto& kNamespace>
struct ProductIn : Named<kNamespace, Operator::kForm> {
  static Status run(ProgramArguments& arguments) {
    const Result<ProductOperands> operands = Operator::kRead(arguments);
    if (!operands) return operands.error();
    const std::size_t place = ProductIn::kSchema.argument_count() - 1;
    const Result<TensorArgument> out = arguments.result_at(place, operands->shape);
    if (!out) return out.error();
    if (!operands->has_products()) {
      fill(*out, operands->bias);
    } else if (out->dtype() == DType::kFloat32) {
      multiply(*operands, *out);
    } else {
      return refused("there is no kernel for the operands' type");
    }
    return {};
  }

  static void call(KernelRuntimeContext& context, Span<EValue*> stack) {
    static const auto kernel =
        executorch::runtime::get_op_function_from_registry(Operator::kOfExecuTorch);
    if (kernel.ok() && is_executorchs(stack)) {
      const OpFunction function = *kernel;
      function(context, stack);
    } else {
      polystate::call<ProductIn>(context, stack);
    }
  }

  static ListedOperator listed() {
    return {ProductIn::kSchema, name_of<ProductIn>(), &ProductIn::call};
  }

 private:
  // Whether there are products of another type than float32.
  static bool is_executorchs(Span<EValue*> stack) {
    ProgramArguments arguments({stack.data(), stack.size()}, ProductIn::kSchema.argument_count());
    if (!arguments.status() || arguments.tensor(0).dtype() == DType::kFloat32) return false;
    const Result<ProductOperands> operands = Operator::kRead(arguments);
    return operands && operands->has_products();
  }
};

}  // namespace

std::span<const ListedOperator> product_operators() {
  static const std::array list = {
      ProductIn<Mm, kOwnNamespace>::listed(),     ProductIn<Bmm, kOwnNamespace>::listed(),
      ProductIn<Linear, kOwnNamespace>::listed(), ProductIn<Mm, kFasterNamespace>::listed(),
      ProductIn<Bmm, kFasterNamespace>::listed(), ProductIn<Linear, kFasterNamespace>::listed()};
  return list;
}

}  // namespace polystate
