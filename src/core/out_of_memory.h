#pragma once

#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/core/result.h"

namespace polystate {

// Calls `work`, which gives a Result or a Status; kEngine when memory runs out in it. `what` says
// what the memory was for, and `name`, which may be empty, of which thing: "run method", "step".
template <typename Work>
auto or_out_of_memory(std::string_view what, std::string_view name, const Work& work)
    -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    std::string message("there is not enough memory to ");
    message.append(what);
    if (!name.empty()) message.append(" '").append(name).append("'");
    return Error{ErrorCode::kEngine, std::move(message)};
  }
}

}  // namespace polystate
