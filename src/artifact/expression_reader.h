#pragma once

#include <span>
#include <string>

#include "core/json_cursor.h"
#include "polystate/artifact/expression.h"

namespace polystate {

// Reads an expression over `symbols` in the manifest's form; the constant 0 after an error.
Expression read_expression(const JsonCursor& at, std::span<const std::string> symbols);

}  // namespace polystate
