#include "engine/aoti/library_arguments.h"

#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/aoti/tensor_handle.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {

template <typename T>
const T* LibraryArguments::read(std::size_t index, const char* type) {
  const T* const value = std::get_if<T>(&values_[index]);
  if (value == nullptr) {
    fail({ErrorCode::kArtifact, "argument " + std::to_string(index) + " is not " + type});
  }
  return value;
}

TensorArgument LibraryArguments::argument(AtenTensorHandle handle) {
  const Result<TensorView> found = view(handle);
  if (!found) {
    fail(found.error());
    return {};
  }
  if (found->shape.size() > TensorArgument::kMaxRank) {
    fail({ErrorCode::kEngine, "a tensor of shape " + to_string(found->shape)});
    return {};
  }
  return {found->dtype, std::span<const std::int64_t>(found->shape), found->data,
          is_row_major(*found)};
}

TensorArgument LibraryArguments::tensor(std::size_t index) {
  const auto* const handle = read<AtenTensorHandle>(index, "a tensor");
  return handle == nullptr ? TensorArgument() : argument(*handle);
}

std::optional<TensorArgument> LibraryArguments::optional_tensor(std::size_t index) {
  const auto* const handle = read<const AtenTensorHandle*>(index, "a tensor or nothing");
  if (handle == nullptr || *handle == nullptr) return std::nullopt;
  return argument(**handle);
}

std::int64_t LibraryArguments::integer(std::size_t index) {
  const auto* const value = read<std::int64_t>(index, "an integer");
  return value == nullptr ? 0 : *value;
}

float LibraryArguments::number(std::size_t index) {
  const auto* const value = read<double>(index, "a number");
  return value == nullptr ? 0.0F : static_cast<float>(*value);
}

bool LibraryArguments::boolean(std::size_t index) {
  const auto* const value = read<bool>(index, "a bool");
  return value != nullptr && *value;
}

std::string_view LibraryArguments::text(std::size_t index) {
  const auto* const value = read<const char*>(index, "a text");
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

Result<TensorArgument> LibraryArguments::result(DType dtype, std::span<const std::int64_t> shape) {
  Result<TensorHandle> made = new_tensor(dtype, shape);
  if (!made) return made.error();
  void* data = nullptr;
  if (aoti_torch_get_data_ptr(made->get(), &data) != AOTI_TORCH_SUCCESS) {
    return Error{ErrorCode::kEngine, "libtorch does not say where a tensor lies"};
  }
  result_ = *std::move(made);
  return TensorArgument(dtype, shape, data, true);
}

}  // namespace polystate
