#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polystate::cli {

// The widest line that a table or a tensor takes, in terminal columns.
inline constexpr std::size_t kLineWidth = 100;

// `text` as it may be shown on a terminal: characters that are unsafe to show and bytes that are no
// UTF-8 become "\x1b" and the like, so that a name in a file can neither move the cursor nor break
// a table.
std::string printable(std::string_view text);

// Terminal columns of printable text: none for combining marks, two for wide characters.
std::size_t display_width(std::string_view text);

// The bytes of the first character of non-empty printable text.
std::size_t first_character_size(std::string_view text);

// "800 B", "12.3 KiB".
std::string bytes_text(std::uint64_t bytes);

// "a, b, c".
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

// "call_001": how golden.npz, and an .npz file that holds the results of several calls, number them
// from 0.
std::string call_name(std::size_t index);

// What a check of an option's value says where the value names a file: empty where it does.
std::string empty_fault(const std::string& path);

// What a check of an option's value says where the value is no UTF-8: empty where it is.
std::string utf8_fault(const std::string& text);

// Whether nothing of a line is to be seen: it is empty, or all of it is white space, be it without
// width (U+200B, U+FEFF).
bool is_blank(std::string_view line);

}  // namespace polystate::cli
