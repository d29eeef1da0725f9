#pragma once

#include <optional>

#include "polystate/core/result.h"

namespace polystate {

// The way from an operator, which can tell a library only that it failed, to the session that
// called the library on this thread.
void record_operator_failure(Error failure);

// The last failure recorded on this thread since the last call.
std::optional<Error> take_operator_failure();

}  // namespace polystate
