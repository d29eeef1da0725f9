#pragma once

#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "response/forms.h"

namespace polystate {

// The arguments of a tool's function (JSON, checked), valid for its schema, as calls of a form are
// written: a part of a structural tag. No text among them has GrammarCompiler::kUnread.
// kUnsupported: the schema has a word that calls of the form cannot follow.
Result<std::string> argument_format(std::string_view function,
                                    const response::WrittenCall& written);

}  // namespace polystate
