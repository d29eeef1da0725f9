#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {

// Parts of messages.

// Text that a document gave, made fit for a message: what is not printable ASCII becomes '?', and
// the end of long text "...".
std::string shortened(std::string_view text);
// The same in double quotes.
std::string in_quotes(std::string_view text);

// The shortest decimal that reads back as `value`: "1e-05", "0.1", "nan", "-inf".
std::string number_text(double value);
std::string number_text(float value);

// "1 file", "3 files".
std::string count_text(std::size_t count, std::string_view noun);

// "batch % 2 == 0 (model.py:12)"; the text alone where no source is known.
std::string with_source(const std::string& text, const std::string& source);

}  // namespace polystate
