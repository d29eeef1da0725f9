#include "engine/executorch/operators/program_arguments.h"

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/result.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

using executorch::aten::SizesType;
using executorch::runtime::EValue;

TensorArgument view_of(const EtTensor& tensor, DType dtype) {
  const std::span<const SizesType> shape(tensor.sizes().data(), tensor.sizes().size());
  return {dtype, shape, tensor.mutable_data_ptr(), is_row_major(tensor)};
}

// The tensor after it got a shape.
Result<TensorArgument> resized(const EtTensor& out, DType dtype,
                               std::span<const std::int64_t> shape) {
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::kEngine, "out is " + type_text(out.scalar_type()) + " of shape " +
                                         to_string(out) + why + "; the result is " +
                                         std::string(name_of(dtype)) + " of shape " +
                                         to_string(shape)};
  };
  if (!is_row_major(out)) return refused(", not row-major");
  if (dtype_of(out.scalar_type()) != dtype) return refused("");
  bool fits = true;
  std::vector<SizesType> sizes;
  for (const std::int64_t size : shape) {
    fits = fits && size >= 0 && size <= std::numeric_limits<SizesType>::max();
    sizes.push_back(static_cast<SizesType>(size));
  }
  if (!fits || executorch::ET_RUNTIME_NAMESPACE::resize_tensor(out, {sizes.data(), sizes.size()}) !=
                   executorch::runtime::Error::Ok) {
    return refused("");
  }
  return view_of(out, dtype);
}

executorch::runtime::Result<double> scalar_of(const EValue& value) {
  if (value.isInt()) return static_cast<double>(*value.tryToInt());
  if (value.isBool()) return static_cast<double>(*value.tryToBool());
  return value.tryToDouble();
}

}  // namespace

ProgramArguments::ProgramArguments(KernelStack stack, std::size_t count) : stack_(stack) {
  if (stack.size() != count + 1) {
    fail({ErrorCode::kArtifact, "called with " + std::to_string(stack.size()) +
                                    " values, its schema has " + std::to_string(count + 1)});
  }
}

template <typename T, typename Read>
T ProgramArguments::read(std::size_t index, const char* type, Read read, T otherwise) {
  if (!status()) return otherwise;
  auto value = read(*stack_[index]);
  if (!value.ok()) {
    fail({ErrorCode::kArtifact,
          "argument " + std::to_string(index) + " is not " + std::string(type)});
    return otherwise;
  }
  return T(*value);
}

TensorArgument ProgramArguments::argument(std::size_t index, const EtTensor& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor.scalar_type());
  if (!dtype) {
    fail({ErrorCode::kArtifact, "argument " + std::to_string(index) + " has elements of type " +
                                    type_text(tensor.scalar_type())});
    return {};
  }
  return view_of(tensor, *dtype);
}

TensorArgument ProgramArguments::tensor(std::size_t index) {
  const EtTensor found = program_tensor(index);
  return status() ? argument(index, found) : TensorArgument();
}

std::optional<TensorArgument> ProgramArguments::optional_tensor(std::size_t index) {
  const auto found = read(
      index, "a tensor or nothing",
      [](const EValue& value) { return value.tryToOptional<EtTensor>(); },
      std::optional<EtTensor>());
  if (!found) return std::nullopt;
  return argument(index, *found);
}

EtTensor ProgramArguments::program_tensor(std::size_t index) {
  return read(
      index, "a tensor", [](const EValue& value) { return value.tryToTensor(); },
      EtTensor(nullptr));
}

std::int64_t ProgramArguments::integer(std::size_t index) {
  return read(
      index, "an integer", [](const EValue& value) { return value.tryToInt(); }, std::int64_t{0});
}

float ProgramArguments::number(std::size_t index) { return static_cast<float>(scalar(index)); }

double ProgramArguments::scalar(std::size_t index) {
  return read(index, "a number", &scalar_of, 0.0);
}

std::optional<std::int64_t> ProgramArguments::whole_number(std::size_t index) const {
  if (index >= stack_.size()) return std::nullopt;
  const EValue& value = *stack_[index];
  if (value.isInt()) return *value.tryToInt();
  if (value.isBool()) return *value.tryToBool() ? 1 : 0;
  return std::nullopt;
}

std::optional<double> ProgramArguments::optional_scalar(std::size_t index) {
  return is_none(index) ? std::nullopt : std::optional(scalar(index));
}

std::optional<std::int64_t> ProgramArguments::optional_integer(std::size_t index) {
  return is_none(index) ? std::nullopt : std::optional(integer(index));
}

std::vector<std::int64_t> ProgramArguments::integers(std::size_t index) {
  using Integers = std::vector<std::int64_t>;
  return read(
      index, "a list of integers",
      [](const EValue& value) -> executorch::runtime::Result<Integers> {
        const auto list = value.tryToIntList();
        if (!list.ok()) return list.error();
        return Integers(list->begin(), list->end());
      },
      Integers{});
}

std::optional<std::vector<std::int64_t>> ProgramArguments::optional_integers(std::size_t index) {
  return is_none(index) ? std::nullopt : std::optional(integers(index));
}

std::vector<TensorArgument> ProgramArguments::tensors(std::size_t index) {
  std::vector<TensorArgument> tensors;
  for (const EtTensor& tensor : program_tensors(index)) tensors.push_back(argument(index, tensor));
  return tensors;
}

std::optional<std::vector<double>> ProgramArguments::optional_numbers(std::size_t index) {
  if (is_none(index)) return std::nullopt;
  using Numbers = std::vector<double>;
  return read(
      index, "a list of numbers",
      [](const EValue& value) -> executorch::runtime::Result<Numbers> {
        const auto list = value.tryToDoubleList();
        if (!list.ok()) return list.error();
        return Numbers(list->begin(), list->end());
      },
      Numbers{});
}

std::string_view ProgramArguments::optional_text(std::size_t index) {
  return is_none(index) ? std::string_view() : text(index);
}

bool ProgramArguments::boolean(std::size_t index) {
  return read(index, "a bool", [](const EValue& value) { return value.tryToBool(); }, false);
}

std::string_view ProgramArguments::text(std::size_t index) {
  return read(
      index, "a text", [](const EValue& value) { return value.tryToString(); }, std::string_view());
}

std::vector<std::optional<EtTensor>> ProgramArguments::optional_program_tensors(std::size_t index) {
  using Tensors = std::vector<std::optional<EtTensor>>;
  return read(
      index, "a list of tensors",
      [](const EValue& value) -> executorch::runtime::Result<Tensors> {
        auto list = value.tryToListOptionalTensor();
        if (!list.ok()) {
          return list.error();
        }
        return Tensors(list->begin(), list->end());
      },
      Tensors{});
}

std::vector<EtTensor> ProgramArguments::program_tensors(std::size_t index) {
  using Tensors = std::vector<EtTensor>;
  return read(
      index, "a list of tensors",
      [](const EValue& value) -> executorch::runtime::Result<Tensors> {
        const auto list = value.tryToTensorList();
        if (!list.ok()) return list.error();
        return Tensors(list->begin(), list->end());
      },
      Tensors{});
}

bool ProgramArguments::is_none(std::size_t index) const {
  return status() && index < stack_.size() && stack_[index]->isNone();
}

Result<TensorArgument> ProgramArguments::result_at(std::size_t index,
                                                   std::span<const std::int64_t> shape) {
  const TensorArgument out = tensor(index);
  if (!status()) return status().error();
  return result_at(index, out.dtype(), shape);
}

Result<TensorArgument> ProgramArguments::result_at(std::size_t index, DType dtype,
                                                   std::span<const std::int64_t> shape) {
  const EtTensor out = program_tensor(index);
  if (!status()) return status().error();
  return resized(out, dtype, shape);
}

Result<TensorArgument> ProgramArguments::result(DType dtype, std::span<const std::int64_t> shape) {
  return result_at(stack_.size() - 2, dtype, shape);
}

}  // namespace polystate
