#include "engine/executorch/aten/operands.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

// The type that PyTorch converts elements of two types to.
DType promoted(DType a, DType b) {
  const auto [smaller, larger] = std::minmax(a, b);
  if (smaller == DType::kUInt8 && larger == DType::kInt8) return DType::kInt16;
  if (smaller == DType::kFloat16 && larger == DType::kBFloat16) return DType::kFloat32;
  return larger;  // they are in this order
}

// How much an operand says about the common type: a tensor without dimensions does where no other
// has its kind of numbers, and a number where no tensor has.
enum class Weight : std::uint8_t { kNumber, kTensorWithoutDimensions, kTensor };

Weight weight_of(const Operand& operand) {
  if (operand.is_number) return Weight::kNumber;
  return operand.tensor.rank() == 0 ? Weight::kTensorWithoutDimensions : Weight::kTensor;
}

DType type_of(const Operand& operand) {
  if (!operand.is_number) return operand.tensor.dtype();
  return operand.integer ? DType::kInt64 : DType::kFloat32;
}

// Bools, integers or floats.
int kind_of(DType dtype) {
  if (is_float(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

}  // namespace

Result<std::vector<Operand>> read_operands(ProgramArguments& arguments, const OperandKinds& kinds) {
  std::vector<Operand> operands;
  operands.reserve(kinds.count());
  for (std::size_t i = 0; i < kinds.count(); ++i) {
    const bool is_tensor = kinds.at(i) == OperandKinds::Kind::kTensor;
    if (kinds.at(i) == OperandKinds::Kind::kText) continue;
    if (kinds.may_be_absent(i) && arguments.is_none(i)) continue;
    Operand& operand = operands.emplace_back();
    operand.is_number = !is_tensor;
    if (is_tensor) {
      operand.tensor = arguments.tensor(i);
    } else {
      operand.number = arguments.scalar(i);
      operand.integer = arguments.whole_number(i);
    }
    if (!arguments.status()) return arguments.status().error();
    if (!is_tensor) continue;
    if (const Status row_major = require_row_major(operand.tensor, "an operand"); !row_major) {
      return row_major.error();
    }
  }
  return operands;
}

Result<std::vector<std::int64_t>> broadcast_shape(const std::vector<Operand>& operands) {
  std::vector<std::int64_t> shape;  // its last dimension first
  for (const Operand& operand : operands) {
    const TensorArgument& tensor = operand.tensor;
    if (operand.is_number) continue;
    for (int i = 0; i < tensor.rank(); ++i) {
      const std::int64_t size = tensor.size(tensor.rank() - 1 - i);
      const auto place = static_cast<std::size_t>(i);
      if (place == shape.size()) {
        shape.push_back(size);
      } else if (shape[place] == 1) {
        shape[place] = size;
      } else if (size != 1 && size != shape[place]) {
        return Error{ErrorCode::kEngine, "an operand of shape " + to_string(tensor.shape()) +
                                             " does not go with the others"};
      }
    }
  }
  std::ranges::reverse(shape);
  return shape;
}

DType common_type(const std::vector<Operand>& operands) {
  std::optional<DType> common;
  for (const Weight weight : {Weight::kTensor, Weight::kTensorWithoutDimensions, Weight::kNumber}) {
    std::optional<DType> theirs;
    for (const Operand& operand : operands) {
      if (weight_of(operand) != weight) continue;
      theirs = theirs ? promoted(*theirs, type_of(operand)) : type_of(operand);
    }
    if (!theirs) continue;
    if (!common) {
      common = theirs;
    } else if (kind_of(*theirs) > kind_of(*common)) {
      common = promoted(*common, *theirs);
    }
  }
  return common.value_or(DType::kFloat32);
}

}  // namespace polystate
