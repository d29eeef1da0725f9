#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {

using EtTensor = executorch::aten::Tensor;

// Reads the arguments of a kernel call by their index. A program may come from anywhere, so each
// has its type checked, where ExecuTorch's own accessors would abort; `error` keeps the first thing
// that is wrong, and what is read after it is void.
class Arguments {
 public:
  // `count` arguments, the result not counted.
  Arguments(KernelStack stack, std::size_t count);

  // A void tensor may not be used: check `status` first.
  EtTensor tensor(std::size_t index);
  std::vector<std::optional<EtTensor>> optional_tensors(std::size_t index);
  std::optional<EtTensor> optional_tensor(std::size_t index);
  std::int64_t integer(std::size_t index);
  float number(std::size_t index);  // a program has whole ones as integers
  bool boolean(std::size_t index);
  std::string_view text(std::size_t index);  // lives as long as the program

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  template <typename T, typename Read>
  T read(std::size_t index, const char* type, Read read, T otherwise);

  KernelStack stack_;
  Status status_;
};

}  // namespace polystate
