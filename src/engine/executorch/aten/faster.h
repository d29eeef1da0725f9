#pragma once

#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// What types a function takes; `faster_loops` reads it.
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
template <typename Function, const auto& kForm, ScalarRule kRule = ScalarRule::kConverted,
          const auto& kNamespace = kFasterNamespace>
struct Faster : Named<kNamespace, Function::kName, kForm> {
  static Status run(ProgramArguments& arguments) {
    Loops loops = faster_loops<Function>();
    loops.rule = kRule;
    return compute_elements<Faster::kSchema>(arguments, loops);
  }
};

template <typename Function>
using FasterOfOne = Faster<Function, kFormOfOne>;
template <typename Function>
using FasterOfTwo = Faster<Function, kFormOfTwo>;

// The same of one that ExecuTorch lacks.
template <typename Function, const auto& kForm>
using Added = Faster<Function, kForm, ScalarRule::kConverted, kAtenNamespace>;

}  // namespace polystate
