#pragma once

#include <cstddef>
#include <string_view>

namespace polystate::chat_template {

// As find() and rfind() of std::string_view, in a time that grows with the text alone: theirs grows
// with the product of both lengths where the text is full of what `part` begins with.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from);
std::size_t find_last_text(std::string_view text, std::string_view part);

}  // namespace polystate::chat_template
