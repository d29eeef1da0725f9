#pragma once

#include <string_view>

#include "polystate/text/tokenizer.h"

namespace polystate {

// Opens a file and, where that succeeds, encodes and decodes with it. Offsets must lie in the text
// and decoded text must be valid; otherwise it aborts.
void use_tokenizer(TokenizerFormat format, std::string_view content,
                   const TokenizerOptions& options = {});

}  // namespace polystate
