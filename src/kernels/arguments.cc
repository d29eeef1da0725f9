#include "kernels/arguments.h"

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using executorch::runtime::EValue;

}  // namespace

Arguments::Arguments(KernelStack stack, std::size_t count) : stack_(stack) {
  if (stack.size() != count + 1) {
    status_ =
        Error{ErrorCode::kArtifact, "called with " + std::to_string(stack.size()) +
                                        " values, its schema has " + std::to_string(count + 1)};
  }
}

template <typename T, typename Read>
T Arguments::read(std::size_t index, const char* type, Read read, T otherwise) {
  if (!status_) {
    return otherwise;
  }
  auto value = read(*stack_[index]);
  if (!value.ok()) {
    status_ = Error{ErrorCode::kArtifact,
                    "argument " + std::to_string(index) + " is not " + std::string(type)};
    return otherwise;
  }
  return T(*value);
}

EtTensor Arguments::tensor(std::size_t index) {
  return read(
      index, "a tensor", [](const EValue& value) { return value.tryToTensor(); },
      EtTensor(nullptr));
}

std::int64_t Arguments::integer(std::size_t index) {
  return read(
      index, "an integer", [](const EValue& value) { return value.tryToInt(); }, std::int64_t{0});
}

std::optional<EtTensor> Arguments::optional_tensor(std::size_t index) {
  return read(
      index, "a tensor or nothing",
      [](const EValue& value) { return value.tryToOptional<EtTensor>(); },
      std::optional<EtTensor>());
}

float Arguments::number(std::size_t index) {
  return read(
      index, "a number",
      [](const EValue& value) -> executorch::runtime::Result<float> {
        if (value.isInt()) {
          return static_cast<float>(*value.tryToInt());
        }
        const auto number = value.tryToDouble();
        return number.ok() ? executorch::runtime::Result<float>(static_cast<float>(*number))
                           : number.error();
      },
      0.0F);
}

bool Arguments::boolean(std::size_t index) {
  return read(index, "a bool", [](const EValue& value) { return value.tryToBool(); }, false);
}

std::string_view Arguments::text(std::size_t index) {
  return read(
      index, "a text", [](const EValue& value) { return value.tryToString(); }, std::string_view());
}

std::vector<std::optional<EtTensor>> Arguments::optional_tensors(std::size_t index) {
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

}  // namespace polystate
