#pragma once

#include <string_view>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

// Makes the offsets of an encoding, and of what overflowed, count the code points of `text` in
// place of its bytes.
void count_code_points(std::string_view text, Encoding& encoding);

}  // namespace polystate::tokenizer
