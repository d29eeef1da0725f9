#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace polystate::tokenizer {

// The bytes that a text stands for (RFC 4648, section 4), with or without padding; nothing where it
// is malformed.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace polystate::tokenizer
