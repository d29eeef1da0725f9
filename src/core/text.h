#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {

// Parts of messages.

// "1 file", "3 files".
std::string count_text(std::size_t count, std::string_view noun);

// "batch % 2 == 0 (model.py:12)"; the text alone where no source is known.
std::string with_source(const std::string& text, const std::string& source);

}  // namespace polystate
