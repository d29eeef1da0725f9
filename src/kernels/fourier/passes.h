#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/instruction_set.h"

namespace polystate {

// Complex numbers as two arrays.
template <typename T>
struct Parts {
  T* real;
  T* imag;

  [[nodiscard]] Parts from(std::int64_t start) const { return {real + start, imag + start}; }
  // The conjugates times i: a transform from swapped to swapped arrays is the inverse one.
  [[nodiscard]] Parts swapped() const { return {imag, real}; }
};

// exp(-2 pi i k / size), exact but for its rounding to T.
template <typename T>
struct UnitRoot {
  T real;
  T imag;
};
template <typename T>
UnitRoot<T> unit_root(std::int64_t k, std::int64_t size);

// One of the steps of a transform, which together are Stockham's autosorting algorithm: it makes
// `radix` shorter transforms, of `rest` elements, of each that is left.
template <typename T>
struct Pass {
  std::int64_t radix;
  std::int64_t rest;
  // exp(-2 pi i k p / (radix rest)), [radix - 1 (k from 1), rest (p)]
  std::vector<T> real;
  std::vector<T> imag;
  // exp(-2 pi i k / radix), [radix]
  std::vector<T> root_real;
  std::vector<T> root_imag;
};

// The largest factor of a size that a pass takes; it costs as many operations for each element.
inline constexpr std::int64_t kLargestRadix = 31;

// Passes for a size, empty for a size of 1; none has a factor above kLargestRadix.
template <typename T>
std::vector<Pass<T>> passes_for(std::int64_t size);

// Transforms `lanes` sequences of one size side by side, values [size, lanes], and leaves them in
// `values`; `scratch` has room for as many. Each lane's result is its own, bit for bit, whatever
// the number of lanes and the instruction set.
template <typename T>
void run_passes(std::span<const Pass<T>> passes, Parts<T> values, Parts<T> scratch,
                std::int64_t lanes, InstructionSet set);

}  // namespace polystate
