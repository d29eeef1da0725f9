#pragma once

#include <torch/csrc/inductor/aoti_torch/c/macros.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "engine/aoti/tensor_handle.h"
#include "kernels/arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

// What a library passes to an operator: a tensor, a tensor or null, a number, a text.
using LibraryValue = std::variant<AtenTensorHandle, const AtenTensorHandle*, std::int64_t, double,
                                  bool, const char*>;

// The arguments of a call by a library of AOTInductor; the values outlive them.
class LibraryArguments final : public Arguments {
 public:
  explicit LibraryArguments(std::span<const LibraryValue> values) : values_(values) {}

  TensorArgument tensor(std::size_t index) override;
  std::optional<TensorArgument> optional_tensor(std::size_t index) override;
  std::int64_t integer(std::size_t index) override;
  float number(std::size_t index) override;
  bool boolean(std::size_t index) override;
  std::string_view text(std::size_t index) override;

  // A new tensor of libtorch's.
  Result<TensorArgument> result(DType dtype, std::span<const std::int64_t> shape) override;

  // The result; null before there is one.
  [[nodiscard]] TensorHandle take_result() { return std::move(result_); }

 private:
  template <typename T>
  const T* read(std::size_t index, const char* type);
  TensorArgument argument(AtenTensorHandle handle);

  std::span<const LibraryValue> values_;
  TensorHandle result_;
};

}  // namespace polystate
