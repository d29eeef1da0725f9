#include "engine/input_writes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

std::string form(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape());
}

}  // namespace

Result<InputWrites> InputWrites::collect(const MethodSpec& spec, std::span<const Tensor> inputs,
                                         const CopyOutput& copy_output) {
  InputWrites writes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<std::size_t> source = spec.inputs[i].written_from;
    if (!source) continue;
    Result<Tensor> value = copy_output(*source);
    if (!value) return value.error();
    if (value->dtype() != inputs[i].dtype() || value->shape() != inputs[i].shape()) {
      return Error{ErrorCode::kEngine, "method '" + spec.name + "' computed " + form(*value) +
                                           " for input " + std::to_string(i) + ", which is " +
                                           form(inputs[i])};
    }
    writes.values_.emplace_back(i, *std::move(value));
  }
  return writes;
}

void InputWrites::apply(std::span<const Tensor> inputs) const {
  for (const auto& [index, value] : values_) {
    std::ranges::copy(value.bytes(), inputs[index].mutable_bytes().begin());
  }
}

}  // namespace polystate
