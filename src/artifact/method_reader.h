#pragma once

#include <cstddef>

#include "core/json_cursor.h"
#include "polystate/artifact/manifest.h"

namespace polystate {

// Reads one element of "methods", all but what check_method looks at.
MethodSpec read_method(const JsonCursor& at, std::size_t state_count);

// Reports what does not fit together in a method that read_method read from `at`: names and indices
// that occur twice, symbols whose dimension is another one, outputs that contradict each other.
void check_method(const JsonCursor& at, const MethodSpec& method);

// A dtype by name.
DType read_dtype(const JsonCursor& at);

}  // namespace polystate
