#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "chat_template/text.h"

namespace polystate::chat_template {

class Rendering;

// What Python's str does, over texts that keep their origins.

Text upper(const Text& text);
Text lower(const Text& text);
Text capitalize(const Text& text);
Text title(const Text& text);
Text swap_case(const Text& text);

enum class Sides : std::uint8_t { kLeft, kRight, kBoth };
// Without the characters at the sides that are in `characters`; none: that are space.
Text strip(const Text& text, std::optional<std::string_view> characters, Sides sides);
// The part of a text that is left without the space at both sides.
std::string_view stripped(std::string_view text);

// Parts between separators; none: between runs of space. At most `most` separators are looked at,
// from the end if `from_end`; -1: all. Each part counts as a step.
std::vector<Text> split(Rendering& rendering, const Text& text,
                        std::optional<std::string_view> separator, std::int64_t most,
                        bool from_end);
std::vector<Text> split_lines(Rendering& rendering, const Text& text, bool keep_ends);

// With at most `most` places of `old` replaced; -1: all. Fails where the text becomes too long.
Text replace(Rendering& rendering, const Text& text, std::string_view old, const Text& by,
             std::int64_t most);

// How often `part` is in a text, without overlaps.
std::int64_t count(std::string_view text, std::string_view part);

// Whether all letters that have a case have this one, and there is one.
bool is_upper_text(std::string_view text);
bool is_lower_text(std::string_view text);

}  // namespace polystate::chat_template
