#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/wrapping.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/offsets.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

namespace polystate {

// How operators that name it combine elements.
enum class Reduction : std::uint8_t { kSum, kProduct, kMean, kLargest, kSmallest };

// "sum", "prod", "mean", "amax" or "max", "amin" or "min".
Result<Reduction> reduction_named(std::string_view name);

struct Plus {
  template <typename V>
  static constexpr V nothing() {
    return V{0};
  }
  template <typename V>
  static V of(V a, V b) {
    return wrapping_sum(a, b);
  }
};

struct Times {
  template <typename V>
  static constexpr V nothing() {
    return V{1};
  }
  template <typename V>
  static V of(V a, V b) {
    return wrapping_product(a, b);
  }
};

// A product is rounded to T each time, as where PyTorch multiplies in 16 bits.
template <typename T>
struct TimesRoundedTo : Times {
  template <typename V>
  static V of(V a, V b) {
    return static_cast<V>(static_cast<T>(a * b));
  }
};

// NaN where there is one.
struct Larger {
  template <typename V>
  static constexpr V nothing() {
    if constexpr (std::is_integral_v<V>) {
      return std::numeric_limits<V>::lowest();
    } else {
      return -std::numeric_limits<V>::infinity();
    }
  }
  template <typename V>
  static V of(V a, V b) {
    const V larger = a < b ? b : a;
    return is_nan(b) ? b : larger;
  }
};

struct Smaller {
  template <typename V>
  static constexpr V nothing() {
    if constexpr (std::is_integral_v<V>) {
      return std::numeric_limits<V>::max();
    } else {
      return std::numeric_limits<V>::infinity();
    }
  }
  template <typename V>
  static V of(V a, V b) {
    const V smaller = b < a ? b : a;
    return is_nan(b) ? b : smaller;
  }
};

// Calls `work.operator()<Combine>()`; a mean begins as a sum. Bools are added as "or", and
// multiplied as "and".
template <typename Work>
void with_combination(Reduction reduction, bool of_bools, const Work& work) {
  switch (reduction) {
    case Reduction::kProduct:
      return of_bools ? work.template operator()<Smaller>() : work.template operator()<Times>();
    case Reduction::kLargest:
      return work.template operator()<Larger>();
    case Reduction::kSmallest:
      return work.template operator()<Smaller>();
    case Reduction::kSum:
    case Reduction::kMean:
      break;
  }
  return of_bools ? work.template operator()<Larger>() : work.template operator()<Plus>();
}

// A sum as the mean of `count` elements, of integers the next one below. As in PyTorch a count of
// 0, which one of integers may come to by wrapping, leaves the sum as it is.
template <typename V>
V mean_of(V sum, V count) {
  if (count == V{0}) return sum;
  if constexpr (std::is_integral_v<V>) {
    // The smallest number has no opposite.
    if (count == V{-1}) return wrapping_difference(V{0}, sum);
    const V quotient = sum / count;
    const bool is_above = sum % count != 0 && (sum < 0) != (count < 0);
    return is_above ? quotient - 1 : quotient;
  } else {
    return sum / count;
  }
}

// A tensor's elements as a reduction sees them: where those of a result begin, and where they lie.
struct ReducedElements {
  Offsets kept;
  Offsets reduced;
  std::vector<std::int64_t> shape;  // of the results
};

// What is reduced, and to what.
struct ReductionCall {
  TensorArgument self;
  TensorArgument out;
  ReducedElements operands;
};

// Reads a row-major tensor, which is the first argument, and `keepdim`, if there is one, and the
// results at their places. No dimensions or an empty list: all are reduced.
Result<ReductionCall> reduction_call(ProgramArguments& arguments,
                                     const std::optional<std::vector<std::int64_t>>& dimensions,
                                     std::optional<std::size_t> keepdim_index,
                                     std::size_t out_index);

}  // namespace polystate
