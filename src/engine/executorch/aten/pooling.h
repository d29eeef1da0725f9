#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/triples.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

// What operators share whose results are each the mean or the largest of a window of a plane: of
// the last two or three dimensions of a tensor.
namespace polystate {

// From so many elements on, of planes or of their results, another thread saves more time than it
// costs to wake.
inline constexpr std::int64_t kPlaneElementsWorthAThread = 16'384;

// Places first, first + step, ... below `last` along a dimension.
struct Window {
  std::int64_t first = 0;
  std::int64_t last = 1;
  std::int64_t step = 1;
  std::int64_t padded = 1;  // its size, with places of the padding

  [[nodiscard]] std::int64_t count() const { return std::max<std::int64_t>(0, last - first); }
};

// The windows of results, along each dimension.
using Windows = std::array<std::vector<Window>, 3>;

// A tensor of [batch, channels, planes...] or [channels, planes...].
struct Planes {
  TensorArgument self;
  std::size_t rank = 3;  // of a plane
  std::int64_t count = 1;
  Triple sizes{1, 1, 1};

  // Where the dimensions of a plane begin in a triple.
  [[nodiscard]] std::size_t begin() const { return 3 - rank; }
  [[nodiscard]] std::int64_t elements() const { return sizes[0] * sizes[1] * sizes[2]; }
  // Of a tensor with as many planes of other sizes.
  [[nodiscard]] std::vector<std::int64_t> shape(const Triple& of_plane) const {
    std::vector<std::int64_t> shape(self.shape().begin(),
                                    self.shape().end() - static_cast<std::ptrdiff_t>(rank));
    shape.insert(shape.end(), of_plane.begin() + static_cast<std::ptrdiff_t>(begin()),
                 of_plane.end());
    return shape;
  }
};

// A plane, as numbers of one type.
template <typename Number>
struct PlaneOfNumbers {
  const Number* plane = nullptr;
  std::vector<Number> converted;  // of a plane whose elements are of another type

  void read(const Planes& planes, std::int64_t index) {
    const ReadAs<Number> elements(planes.self);
    if (elements.converts()) converted.resize(static_cast<std::size_t>(planes.elements()));
    plane = elements.at(index * planes.elements(), planes.elements(), converted.data());
  }
};

Result<Planes> planes_of(ProgramArguments& arguments, std::size_t rank);

// Where the largest elements of windows go, and their places in a plane: the first of equal ones,
// the last NaN.
struct Maxima {
  TensorArgument values;
  TensorArgument indices;
};

// The results at `index` and behind it.
Result<Maxima> maxima_at(ProgramArguments& arguments, std::size_t index, const Planes& planes,
                         const Triple& results);

// A sum divided by how many it has, or by another number that is not zero.
template <typename T>
T quotient(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (b == -1) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
  }
  return static_cast<T>(a / b);
}

}  // namespace polystate
