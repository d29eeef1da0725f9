#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

// Appends `text` to `out` with every malformed part replaced by U+FFFD. Where `sources` is given,
// the range of `text` that each byte appended comes from is added to it.
void append_repaired(std::string_view text, std::string& out, std::vector<TextRange>* sources);

}  // namespace polystate::tokenizer
