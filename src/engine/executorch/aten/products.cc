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

// What operators of two matrices have in common, or of as many pairs of them.
template <int kRank>
struct OfPairs {
  static constexpr std::size_t kOut = 2;
  static Result<Shape> shape(ProgramArguments& arguments) {
    return product_shape(arguments, kRank);
  }
  static std::optional<TensorArgument> bias(ProgramArguments& /*arguments*/) {
    return std::nullopt;
  }
  static void multiply(ProgramArguments& arguments, const TensorArgument& out) {
    const TensorArgument left = arguments.tensor(0);
    const TensorArgument right = arguments.tensor(1);
    multiply_pairs({.left = left.data<float>(),
                    .right = right.data<float>(),
                    .bias = nullptr,
                    .out = out.mutable_data<float>(),
                    .rows = left.size(kRank - 2),
                    .depth = left.size(kRank - 1),
                    .columns = right.size(kRank - 1),
                    .is_right_transposed = false},
                   kRank == 2 ? 1 : left.size(0));
  }
};

struct Mm : OfPairs<2> {
  static constexpr char kForm[] =
      "mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)";
  static constexpr char kOfExecuTorch[] = "aten::mm.out";
};

struct Bmm : OfPairs<3> {
  static constexpr char kForm[] =
      "bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)";
  static constexpr char kOfExecuTorch[] = "aten::bmm.out";
};

struct Linear {
  static constexpr char kForm[] =
      "linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)";
  static constexpr char kOfExecuTorch[] = "aten::linear.out";
  static constexpr std::size_t kOut = 3;
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
  static std::optional<TensorArgument> bias(ProgramArguments& arguments) {
    return arguments.optional_tensor(2);
  }
  static void multiply(ProgramArguments& arguments, const TensorArgument& out) {
    const TensorArgument input = arguments.tensor(0);
    const TensorArgument weight = arguments.tensor(1);
    const std::optional<TensorArgument> added = bias(arguments);
    const std::int64_t depth = std::max<std::int64_t>(weight.size(1), 1);
    multiply_pairs({.left = input.data<float>(),
                    .right = weight.data<float>(),
                    .bias = added ? added->data<float>() : nullptr,
                    .out = out.mutable_data<float>(),
                    .rows = input.element_count() / depth,
                    .depth = depth,
                    .columns = weight.size(0),
                    .is_right_transposed = true},
                   1);
  }
};

// Whether there is something to multiply.
bool has_products(const KernelStack& stack) {
  return std::ranges::all_of(stack.first(2), [](const EValue* value) {
    return value->isTensor() && value->toTensor().numel() > 0;
  });
}

// An operator in a namespace. Products of float32 are computed here, others by ExecuTorch's kernel
// where there are some.
template <typename Operator, const auto& kNamespace>
struct In : Named<kNamespace, Operator::kForm> {
  static Status run(ProgramArguments& arguments) {
    const Result<Shape> shape = Operator::shape(arguments);
    if (!shape) return shape.error();
    const Result<TensorArgument> out = arguments.result_at(Operator::kOut, *shape);
    if (!out) return out.error();
    if (out->element_count() == 0) return {};
    if (out->dtype() == DType::kFloat32 && arguments.tensor(0).element_count() > 0) {
      Operator::multiply(arguments, *out);
    } else {
      fill(*out, Operator::bias(arguments));
    }
    return {};
  }

  static void call(KernelRuntimeContext& context, Span<EValue*> stack) {
    static const auto kernel =
        executorch::runtime::get_op_function_from_registry(Operator::kOfExecuTorch);
    const KernelStack values{stack.data(), stack.size()};
    ProgramArguments arguments(values, In::kSchema.argument_count());
    const bool is_possible = arguments.status() && Operator::shape(arguments);
    if (is_possible && has_products(values) && kernel.ok() &&
        arguments.tensor(0).dtype() != DType::kFloat32) {
      const OpFunction function = *kernel;
      function(context, stack);
    } else {
      polystate::call<In>(context, stack);
    }
  }

  static ListedOperator listed() { return {In::kSchema, name_of<In>(), &In::call}; }
};

}  // namespace

std::span<const ListedOperator> product_operators() {
  static const std::array list = {
      In<Mm, kOwnNamespace>::listed(),     In<Bmm, kOwnNamespace>::listed(),
      In<Linear, kOwnNamespace>::listed(), In<Mm, kFasterNamespace>::listed(),
      In<Bmm, kFasterNamespace>::listed(), In<Linear, kFasterNamespace>::listed()};
  return list;
}

}  // namespace polystate
