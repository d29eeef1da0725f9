#pragma once

#include <string>

#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// A schema (draft 2020-12) as xgrammar is given it: without annotations, and with what xgrammar
// would understand otherwise than the draft said in words that it does not. kUnsupported: a word
// that it would leave out of account. kContract: what is no schema.
Result<std::string> checked_schema(const Json& schema);

// A structural tag with its schemas checked, and the repetitions of its expressions.
Result<std::string> checked_structural_tag(const Json& tag);

}  // namespace polystate::grammar
