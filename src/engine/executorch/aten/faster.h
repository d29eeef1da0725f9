#pragma once

#include <type_traits>

#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

namespace polystate {

// What a function of `Faster` computes.
struct OfFloatsAlone {
  static constexpr bool kHasIntegers = false;
};
struct OfAllNumbers {
  static constexpr bool kHasIntegers = true;
};

template <typename Function>
Loops faster_loops() {
  if constexpr (Function::kHasIntegers) {
    return vectorised_loops_of_all<Function>();
  } else {
    return vectorised_loops<Function>();
  }
}

// An elementwise operator that ExecuTorch computes a number at a time. `Function::of` has no
// branches or calls, for float32 at least; `Function::kName` is the operator's name, and `kForm`
// the rest of its schema.
template <typename Function, const auto& kForm, Numbers kNumbers = Numbers::kConverted>
struct Faster {
  static constexpr auto kText = joined("polystate_faster::", Function::kName, kForm);
  static constexpr OperatorSchema kSchema = schema_of(kText);
  static Status run(ProgramArguments& arguments) {
    Loops loops = faster_loops<Function>();
    loops.numbers = kNumbers;
    return compute_elements(arguments, kSchema, loops);
  }
};

template <typename Function>
using FasterOfOne = Faster<Function, kFormOfOne>;
template <typename Function>
using FasterOfTwo = Faster<Function, kFormOfTwo>;

// Integers are computed modulo 2^64.
template <typename T>
using Unbounded =
    std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

}  // namespace polystate
