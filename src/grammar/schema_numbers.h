#pragma once

#include "core/json_text.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// Says the words of a schema of "integer" or "number" as xgrammar understands them: whole limits of
// 64 bits, and limits where there are none. Numbers without a limit are those that every reader of
// JSON keeps exactly: a model that repeats a digit would go on for ever otherwise. A "number" that
// has no limit at all stays without: tools/xgrammar.patch limits its digits.
//
// kContract: a limit is no number, or no number is within them. kUnsupported: limits or
// `multipleOf` that are not enforced.
Status settle_numbers(nlohmann::ordered_json& schema);

}  // namespace polystate::grammar
