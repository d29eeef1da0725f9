#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {
namespace internal {

// Without a sign, the bits of infinities and NaN are above those of all numbers.
inline std::uint32_t size_bits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU; }

template <typename Function>
void each_near_or_far(const float* const* operands, float* results, std::int64_t count) {
  constexpr std::int64_t kBlock = 256;
  constexpr auto kMost = std::bit_cast<std::uint32_t>(Function::kFar);
  std::array<float, kBlock> found;  // the results may be the operands
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const float* const numbers = operands[0] + first;
    const std::int64_t last = std::min(kBlock, count - first);
    std::uint32_t largest = 0;
    for (std::int64_t i = 0; i < last; ++i) {
      const std::uint32_t size = size_bits(numbers[i]);
      largest = size > largest ? size : largest;
    }
    for (std::int64_t i = 0; i < last; ++i) found[i] = Function::near(numbers[i]);
    for (std::int64_t i = 0; largest > kMost && i < last; ++i) {
      if (size_bits(numbers[i]) > kMost) found[i] = Function::of(numbers[i]);
    }
    for (std::int64_t i = 0; i < last; ++i) results[first + i] = found[i];
  }
}

}  // namespace internal

// An operator over a function of one number, of which floats up to `Function::kFar` to either side
// of 0 are computed several at a time, by `Function::near`, which has no branches or calls.
// `Function::of` is for all others, one by one; `near` is called for them, too (NaN and infinities
// among them), and what it gives is dropped. `Function::kName` is the operator's name.
template <typename Function, const auto& kNamespace = kFasterNamespace>
struct OfNearAndFar : Named<kNamespace, Function::kName, kFormOfOne> {
  static Status run(ProgramArguments& arguments) {
    const auto of_floats =
        vectorised<&internal::each_near_or_far<Function>>(best_instruction_set());
    return compute_elements<OfNearAndFar::kSchema>(
        arguments, {.of_floats = of_floats, .of_doubles = &each_element<Function, double>});
  }
};

}  // namespace polystate
