#pragma once

#include <cstdint>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

// Appends `other`; what overflows of either is combined with all of the other, as the `tokenizers`
// library does it.
void append_encoding(Encoding& encoding, const Encoding& other);

// Appends a token that the post-processor adds.
void append_special_token(Encoding& encoding, TokenId id, std::uint32_t type_id, bool offsets);

}  // namespace polystate::tokenizer
