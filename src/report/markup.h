#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/report/document.h"

namespace polystate::report {

// Any bytes as text that looks like what it is: what is no UTF-8 becomes U+FFFD, and characters
// that could change how the text around them is shown are named ("U+202E"). Line feeds and tabs
// stay.
std::string visible(std::string_view text);

// The same as the text of an element or the value of an attribute in quotes, of HTML and of XML.
std::string escaped(std::string_view text);

// "12.5", "3": at most two digits behind the point.
std::string decimal(double value);

// The first `most` characters of a text, the last of them "…" where there are more.
std::string clipped(std::string_view text, std::size_t most);

// About how many columns of a fixed-width font a text takes, where characters of East Asia take
// two.
std::size_t columns_of(std::string_view text);

// "1,234,567".
std::string grouped_digits(std::size_t number);

// Bytes as people read them, "12.3 KiB".
std::string size_text(double bytes);

// A title that is shown when one points at the element around it; nothing for an empty text.
std::string title_element(std::string_view text);

}  // namespace polystate::report
