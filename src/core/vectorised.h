#pragma once

#include "core/compiled_for.h"
#include "core/instruction_set.h"

namespace polystate {
namespace internal {

template <auto kLoop>
struct Vectorised;

// Each of these has all of `kLoop`, and of what that calls, within it.
template <typename Value, typename... Arguments, Value (*kLoop)(Arguments...)>
struct Vectorised<kLoop> {
  static constexpr auto kScalar = kLoop;
#if defined(__x86_64__)
  [[gnu::target("avx2,fma"), gnu::flatten]] static Value avx2(Arguments... arguments) {
    return kLoop(arguments...);
  }
  [[gnu::target("avx512f"), gnu::flatten]] static Value avx512(Arguments... arguments) {
    return kLoop(arguments...);
  }
  static constexpr auto kAvx2 = avx2;
  static constexpr auto kAvx512 = avx512;
#endif
};

}  // namespace internal

// A function whose loops the compiler vectorises, as it is compiled for an instruction set that is
// available. All give the same results where the file is compiled without contracting products and
// sums.
template <auto kLoop>
auto vectorised(InstructionSet set) {
  return compiled_for<internal::Vectorised<kLoop>>(set);
}

}  // namespace polystate
