#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// A tensor argument, with its name for messages.
struct NamedTensor {
  const char* name;
  EtTensor tensor;
};

// What an operator requires of its arguments. The first requirement that does not hold is kept, and
// later ones are not looked at, so that each may rely on those before it.
class Requirements {
 public:
  // Float32, int64, int32 or int8, row-major, of `rank` dimensions.
  void floats(const NamedTensor& argument, int rank);
  void integers(const NamedTensor& argument, int rank);
  void small_integers(const NamedTensor& argument, int rank);
  void bytes(const NamedTensor& argument, int rank);

  // The argument's shape; -1 stands for any size.
  void shape(const NamedTensor& argument, const std::vector<std::int64_t>& expected);

  // Every element of an int64 tensor lies in low..high.
  void between(const NamedTensor& argument, std::int64_t low, std::int64_t high);

  void holds(bool condition, const std::string& otherwise);

  // Gives `out`, float32 or int64 as it is, a shape.
  void resize(EtTensor out, const std::vector<std::int64_t>& shape);

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  void of_type(const NamedTensor& argument, executorch::aten::ScalarType type, int rank);
  void fail(std::string message);

  Status status_;
};

// The size of a dimension; 0 where there is no such dimension.
inline std::int64_t size_of(const EtTensor& tensor, int dimension) {
  return dimension < tensor.dim() ? tensor.size(dimension) : 0;
}

// The elements of an int64 tensor.
std::span<const std::int64_t> integers_of(const EtTensor& tensor);

}  // namespace polystate
