#pragma once

#include <cstdint>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// What types a function takes, and whether it has a loop of its own for a tensor beside numbers:
// where to read these for each element would take as long as the function. `faster_loops` reads
// both.
struct OfFloatsAlone {
  static constexpr bool kHasIntegers = false;
  static constexpr bool kReadsNumbersOnce = false;
};
struct OfAllNumbers {
  static constexpr bool kHasIntegers = true;
  static constexpr bool kReadsNumbersOnce = false;
};

template <typename Function>
Loops faster_loops() {
  Loops loops = vectorised_loops<Function>();
  const InstructionSet set = best_instruction_set();
  if constexpr (Function::kHasIntegers) {
    loops.of_integers = vectorised<&each_element<Function, std::int64_t>>(set);
    loops.of_small_integers = vectorised<&each_element<Function, std::int32_t>>(set);
  }
  if constexpr (Function::kReadsNumbersOnce) {
    loops.of_floats_beside_numbers = vectorised<&each_beside_numbers<Function, float>>(set);
  }
  return loops;
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
