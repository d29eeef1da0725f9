#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

// What an elementwise operator takes before its result, as its schema says.
class OperandKinds {
 public:
  enum class Kind : std::uint8_t { kTensor, kNumber, kText };

  explicit OperandKinds(const OperatorSchema& schema) : count_(schema.argument_count() - 1) {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::string_view type = schema.type_of(i);
      const Kind other = type == "str" ? Kind::kText : Kind::kNumber;
      kinds_.at(i) = type.starts_with("Tensor") ? Kind::kTensor : other;
      may_be_absent_.at(i) = type.ends_with('?');
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Kind at(std::size_t index) const { return kinds_[index]; }
  [[nodiscard]] bool may_be_absent(std::size_t index) const { return may_be_absent_[index]; }

 private:
  static constexpr std::size_t kMostOperands = 6;

  std::size_t count_;
  std::array<Kind, kMostOperands> kinds_{};
  std::array<bool, kMostOperands> may_be_absent_{};
};

// A tensor, or a number that goes with every element.
struct Operand {
  TensorArgument tensor;
  double number = 0.0;
  std::optional<std::int64_t> integer;  // the number, where it is one
  bool is_number = false;
};

// The operands of a call; refuses tensors that are not row-major.
Result<std::vector<Operand>> read_operands(ProgramArguments& arguments, const OperandKinds& kinds);

// The shape that operands are broadcast to.
Result<std::vector<std::int64_t>> broadcast_shape(const std::vector<Operand>& operands);

// The type that PyTorch converts operands to, as its `result_type` has it.
DType common_type(const std::vector<Operand>& operands);

}  // namespace polystate
