#pragma once

#include <string_view>

#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// Opens `content`, which may be damaged, and, where that succeeds, encodes, decodes and streams
// with it. True where all is as promised: an error says what is wrong and is not an engine's,
// offsets lie in the text, and streamed text is the decoded text.
bool keeps_its_promises(TokenizerFormat format, std::string_view content,
                        const TokenizerOptions& options = {});

}  // namespace polystate
