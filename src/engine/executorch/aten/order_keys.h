#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"

namespace polystate {

// An element's key, and its place among those that are read with it.
template <typename Key>
struct Placed {
  Key key;
  Key place;
};

// Calls `work.operator()<Key>()` with the type of the keys and places of `count` elements:
// std::uint32_t where both fit into it, or std::uint64_t.
template <typename Work>
auto with_key_type(DType dtype, std::int64_t count, const Work& work) {
  const bool fits = size_of(dtype) <= 4 && count <= std::numeric_limits<std::uint32_t>::max();
  return fits ? work.template operator()<std::uint32_t>()
              : work.template operator()<std::uint64_t>();
}

// The elements of a row-major tensor as unsigned integers that have PyTorch's order of numbers: NaN
// is the largest, and zeros of both signs are equal. So one sort serves elements of every type.
template <typename Key>
class OrderKeys {
 public:
  explicit OrderKeys(const TensorArgument& tensor);

  // Reads as many elements as `placed` has, from element `start` on and `step` elements apart.
  void read(std::int64_t start, std::int64_t step, std::vector<Placed<Key>>& placed) const {
    read_(bytes_, {.start = start, .step = step}, placed);
  }

  [[nodiscard]] bool is_nan(Key key) const { return has_nan_ && key == kKeyOfNan; }
  // NaN equals nothing.
  [[nodiscard]] bool equal(Key a, Key b) const { return a == b && !is_nan(a); }

 private:
  struct From {
    std::int64_t start;
    std::int64_t step;
  };
  using Read = void (*)(const std::byte* elements, const From& from,
                        std::vector<Placed<Key>>& placed);

  // Also of the largest integer.
  static constexpr Key kKeyOfNan = std::numeric_limits<Key>::max();

  template <typename T>
  static void read_elements(const std::byte* elements, const From& from,
                            std::vector<Placed<Key>>& placed);

  const std::byte* bytes_;
  bool has_nan_;
  Read read_;
};

// Sorts by the keys; elements of equal keys stay in the order of their places, which is that of the
// vector. `scratch` is memory that the next call can use again.
template <typename Key>
void sort_by_key(std::vector<Placed<Key>>& placed, std::vector<Placed<Key>>& scratch);

}  // namespace polystate
