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

  // `out`, resized.
  Result<TensorArgument> result(DType dtype, std::span<const std::int64_t> shape) override;

  // Tensors of any type and order of dimensions. A void one may not be used: check `status` first.
  EtTensor program_tensor(std::size_t index);
  std::vector<std::optional<EtTensor>> optional_program_tensors(std::size_t index);

 private:
  template <typename T, typename Read>
  T read(std::size_t index, const char* type, Read read, T otherwise);
  TensorArgument argument(std::size_t index, const EtTensor& tensor);

  KernelStack stack_;
};

}  // namespace polystate
