#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

// A tensor argument, with its name for messages.
struct NamedTensor {
  const char* name;
  TensorArgument tensor;
};

// What an operator requires of its arguments. The first requirement that does not hold is kept, and
// later ones are not looked at, so that each may rely on those before it.
class Requirements {
 public:
  // The first of all: that the arguments, which were read already, had the types they were read as.
  explicit Requirements(Arguments& arguments)
      : arguments_(arguments), status_(arguments.status()) {}

  // Float32, float16, int64, int32, int8 or a type that is given, row-major, of `rank` dimensions.
  void floats(const NamedTensor& argument, int rank);
  void halves(const NamedTensor& argument, int rank);
  void integers(const NamedTensor& argument, int rank);
  void small_integers(const NamedTensor& argument, int rank);
  void bytes(const NamedTensor& argument, int rank);
  void of_type(const NamedTensor& argument, DType type, int rank);

  // The argument's shape; -1 stands for any size.
  void shape(const NamedTensor& argument, const std::vector<std::int64_t>& expected);

  // Every element of an int64 tensor lies in low..high.
  void between(const NamedTensor& argument, std::int64_t low, std::int64_t high);
  // Every element of an int64 tensor is an index of one of `count`.
  void indices(const NamedTensor& argument, std::int64_t count);

  void holds(bool condition, const std::string& otherwise);

  // The operator's result, of this type and shape; the last requirement.
  TensorArgument result(DType dtype, std::span<const std::int64_t> shape);

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  void fail(std::string message);

  Arguments& arguments_;
  Status status_;
};

// The elements of an int64 tensor.
std::span<const std::int64_t> integers_of(const TensorArgument& tensor);

}  // namespace polystate
