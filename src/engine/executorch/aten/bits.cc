#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators that take the bits of elements for elements of another type.
namespace polystate {
namespace {

// The shape of a tensor's bits as elements of `size` bytes: those of the last dimension are others.
Result<std::vector<std::int64_t>> shape_of_bits(const TensorArgument& self, std::int64_t size) {
  std::vector<std::int64_t> shape(self.shape().begin(), self.shape().end());
  const auto own = static_cast<std::int64_t>(size_of(self.dtype()));
  if (own == size) return shape;
  if (shape.empty()) {
    return Error{ErrorCode::kEngine, "a tensor without dimensions has elements of " +
                                         std::to_string(own) + " bytes, not " +
                                         std::to_string(size)};
  }
  if (shape.back() * own % size != 0) {
    return Error{ErrorCode::kEngine, "the last dimension has " +
                                         std::to_string(shape.back() * own) +
                                         " bytes, no multiple of " + std::to_string(size)};
  }
  shape.back() = shape.back() * own / size;
  return shape;
}

struct ViewDtype {
  static constexpr OperatorSchema kSchema{
      "aten::view_copy.dtype_out(Tensor self, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const DType dtype = arguments.tensor(2).dtype();  // as `dtype` says
    if (!arguments.status()) return arguments.status();
    if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
    const auto shape = shape_of_bits(self, static_cast<std::int64_t>(size_of(dtype)));
    if (!shape) return shape.error();
    const Result<TensorArgument> out = arguments.result_at(2, dtype, *shape);
    if (!out) return out.error();
    const auto bytes = static_cast<std::size_t>(out->element_count()) * size_of(dtype);
    if (dtype == DType::kBool) {  // bytes other than 0 and 1 are no bools
      std::ranges::transform(std::span(self.bytes(), bytes), out->mutable_data<bool>(),
                             [](std::byte each) { return each != std::byte{}; });
    } else if (bytes > 0) {
      std::memcpy(out->bytes(), self.bytes(), bytes);
    }
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> bit_operators() { return listed<ViewDtype>(); }

}  // namespace polystate
