#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

using EtTensor = executorch::aten::Tensor;

// The values of one call, as a program lists them: the arguments of the operator's schema (an `out`
// last among them), then the result, which is the same value as `out`, or as the first argument of
// an operator that works in place.
using KernelStack = std::span<executorch::runtime::EValue* const>;

// Reads the arguments of a call by a program of ExecuTorch, whose own accessors would abort.
class ProgramArguments final : public Arguments {
 public:
  // `count` arguments, the result not counted.
  ProgramArguments(KernelStack stack, std::size_t count);

  TensorArgument tensor(std::size_t index) override;
  std::optional<TensorArgument> optional_tensor(std::size_t index) override;
  std::int64_t integer(std::size_t index) override;
  float number(std::size_t index) override;  // a program has whole ones as integers
  bool boolean(std::size_t index) override;
  std::string_view text(std::size_t index) override;

  // `out`, the last argument, resized.
  Result<TensorArgument> result(DType dtype, std::span<const std::int64_t> shape) override;

  // What operators of PyTorch have besides: arguments that may be None, lists, several results.
  [[nodiscard]] bool is_none(std::size_t index) const;
  double scalar(std::size_t index);  // a number or a bool
  // An integer, or a bool as 0 or 1; nothing where the argument is another number or none.
  [[nodiscard]] std::optional<std::int64_t> whole_number(std::size_t index) const;
  std::optional<double> optional_scalar(std::size_t index);
  std::optional<std::int64_t> optional_integer(std::size_t index);
  std::vector<std::int64_t> integers(std::size_t index);
  std::optional<std::vector<std::int64_t>> optional_integers(std::size_t index);
  std::vector<TensorArgument> tensors(std::size_t index);
  std::optional<std::vector<double>> optional_numbers(std::size_t index);
  std::string_view optional_text(std::size_t index);  // empty where there is none
  // The argument `index`, which is an `out`, resized; of the type that it has, or of this one.
  Result<TensorArgument> result_at(std::size_t index, std::span<const std::int64_t> shape);
  Result<TensorArgument> result_at(std::size_t index, DType dtype,
                                   std::span<const std::int64_t> shape);

  // Tensors of any type and order of dimensions. A void one may not be used: check `status` first.
  EtTensor program_tensor(std::size_t index);
  std::vector<EtTensor> program_tensors(std::size_t index);
  std::vector<std::optional<EtTensor>> optional_program_tensors(std::size_t index);

 private:
  template <typename T, typename Read>
  T read(std::size_t index, const char* type, Read read, T otherwise);
  TensorArgument argument(std::size_t index, const EtTensor& tensor);

  KernelStack stack_;
};

}  // namespace polystate
