#pragma once

#include <new>
#include <string>

#include "polystate/core/result.h"

namespace polystate {

// Calls `work`, which gives a Result or a Status; kEngine when memory runs out in it. `what` says
// what the memory was for: "open 'model'".
template <typename Work>
auto or_out_of_memory(const std::string& what, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kEngine, "there is not enough memory to " + what};
  }
}

}  // namespace polystate
