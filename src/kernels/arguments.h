#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

// The arguments of one call of an operator, read by their index, whichever engine calls it. A
// program may come from anywhere, so each has its type checked; `status` keeps the first thing that
// is wrong, and what is read after it is void.
class Arguments {
 public:
  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  virtual ~Arguments() = default;

  virtual TensorArgument tensor(std::size_t index) = 0;
  virtual std::optional<TensorArgument> optional_tensor(std::size_t index) = 0;
  virtual std::int64_t integer(std::size_t index) = 0;
  virtual float number(std::size_t index) = 0;
  virtual bool boolean(std::size_t index) = 0;
  virtual std::string_view text(std::size_t index) = 0;  // lives as long as the program

  // The operator's result, for the kernel to write: row-major, of this type and shape.
  virtual Result<TensorArgument> result(DType dtype, std::span<const std::int64_t> shape) = 0;

  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  void fail(Error error) {
    if (status_) status_ = std::move(error);
  }

 private:
  Status status_;
};

}  // namespace polystate
