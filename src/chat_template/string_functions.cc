#include "chat_template/string_functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/characters.h"
#include "chat_template/rendering.h"
#include "chat_template/string_search.h"
#include "chat_template/text.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

constexpr char32_t kSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;

// Whether the sigma at a position ends a word (Unicode's SpecialCasing.txt, Final_Sigma).
bool ends_word(std::string_view text, std::size_t position) {
  bool after_cased = false;
  for (std::size_t i = position; i > 0;) {
    i = previous_character(text, i);
    const char32_t before = character_at(text, i).code_point;
    if (is_case_ignorable(before)) continue;
    after_cased = is_cased(before);
    break;
  }
  if (!after_cased) return false;
  for (std::size_t i = position + character_size(text[position]); i < text.size();) {
    const Utf8Character after = character_at(text, i);
    if (!is_case_ignorable(after.code_point)) return !is_cased(after.code_point);
    i += after.size;
  }
  return true;
}

CaseMapping lower_at(std::string_view text, std::size_t position, char32_t code_point) {
  if (code_point == kSigma && ends_word(text, position)) return {{kFinalSigma}, 1};
  return lower_of(code_point);
}

// A text of what map(position, code_point) gives for each character.
template <typename Map>
Text mapped(const Text& text, Map&& map) {
  const std::string_view bytes = text.bytes();
  TextBuilder result;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Character character = character_at(bytes, i);
    const CaseMapping mapping = map(i, character.code_point);
    if (mapping.count > 1 || mapping.code_points[0] != character.code_point) {
      result.append(text, kept, i);
      for (std::size_t part = 0; part < mapping.count; ++part)
        result.append(mapping.code_points[part], text.origin_at(i));
      kept = i + character.size;
    }
    i += character.size;
  }
  result.append(text, kept, bytes.size());
  return result.take();
}

bool has_character(std::string_view characters, char32_t code_point) {
  for (std::size_t i = 0; i < characters.size();) {
    const Utf8Character character = character_at(characters, i);
    if (character.code_point == code_point) return true;
    i += character.size;
  }
  return false;
}

struct Part {
  std::size_t begin;
  std::size_t end;
};

// Whether the character at a position is space.
bool is_space_at(std::string_view text, std::size_t position) {
  return is_space(character_at(text, position).code_point);
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space_at(text, at)) at += character_size(text[at]);
  return at;
}

std::size_t skip_space_back(std::string_view text, std::size_t end) {
  while (end > 0 && is_space_at(text, previous_character(text, end)))
    end = previous_character(text, end);
  return end;
}

std::vector<Part> words(Rendering& rendering, std::string_view text, std::int64_t most) {
  std::vector<Part> parts;
  std::size_t at = skip_space(text, 0);
  for (; at < text.size() && rendering.spend(1); at = skip_space(text, at)) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back({at, text.size()});
      break;
    }
    const std::size_t begin = at;
    while (at < text.size() && !is_space_at(text, at)) at += character_size(text[at]);
    parts.push_back({begin, at});
  }
  return parts;
}

std::vector<Part> words_from_end(Rendering& rendering, std::string_view text, std::int64_t most) {
  std::vector<Part> parts;
  std::size_t end = skip_space_back(text, text.size());
  for (; end > 0 && rendering.spend(1); end = skip_space_back(text, end)) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back({0, end});
      break;
    }
    std::size_t begin = end;
    while (begin > 0 && !is_space_at(text, previous_character(text, begin)))
      begin = previous_character(text, begin);
    parts.push_back({begin, end});
    end = begin;
  }
  std::ranges::reverse(parts);
  return parts;
}

std::vector<Part> separated(Rendering& rendering, std::string_view text, std::string_view separator,
                            std::int64_t most) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    const std::size_t found = find_text(text, separator, begin);
    if (found == std::string_view::npos || !rendering.spend(1)) break;
    parts.push_back({begin, found});
    begin = found + separator.size();
  }
  parts.push_back({begin, text.size()});
  return parts;
}

// The same from the end: both are read backwards.
std::vector<Part> separated_from_end(Rendering& rendering, std::string_view text,
                                     std::string_view separator, std::int64_t most) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::string mark(separator.rbegin(), separator.rend());
  std::vector<Part> parts = separated(rendering, backwards, mark, most);
  for (Part& part : parts) part = {text.size() - part.end, text.size() - part.begin};
  std::ranges::reverse(parts);
  return parts;
}

// What is left without the characters at the sides.
Part stripped_part(std::string_view text, std::optional<std::string_view> characters, Sides sides) {
  const auto goes = [&](std::size_t position) {
    const char32_t code_point = character_at(text, position).code_point;
    return characters ? has_character(*characters, code_point) : is_space(code_point);
  };
  Part part = {0, text.size()};
  if (sides != Sides::kRight) {
    while (part.begin < part.end && goes(part.begin))
      part.begin += character_size(text[part.begin]);
  }
  if (sides != Sides::kLeft) {
    while (part.end > part.begin && goes(previous_character(text, part.end)))
      part.end = previous_character(text, part.end);
  }
  return part;
}

template <bool (*has)(char32_t)>
bool has_case(std::string_view text) {
  bool found = false;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    if (has(character.code_point)) {
      found = true;
    } else if (is_cased(character.code_point)) {
      return false;
    }
    i += character.size;
  }
  return found;
}

}  // namespace

Text upper(const Text& text) {
  return mapped(text, [](std::size_t, char32_t c) { return upper_of(c); });
}

Text lower(const Text& text) {
  return mapped(text, [&](std::size_t i, char32_t c) { return lower_at(text.bytes(), i, c); });
}

Text capitalize(const Text& text) {
  return mapped(text, [&](std::size_t i, char32_t c) {
    return i == 0 ? title_of(c) : lower_at(text.bytes(), i, c);
  });
}

Text title(const Text& text) {
  bool after_cased = false;
  return mapped(text, [&](std::size_t i, char32_t c) {
    const CaseMapping mapping = after_cased ? lower_at(text.bytes(), i, c) : title_of(c);
    after_cased = is_cased(c);
    return mapping;
  });
}

Text swap_case(const Text& text) {
  return mapped(text, [&](std::size_t i, char32_t c) -> CaseMapping {
    if (is_upper(c)) return lower_at(text.bytes(), i, c);
    if (is_lower(c)) return upper_of(c);
    return {{c}, 1};
  });
}

Text strip(const Text& text, std::optional<std::string_view> characters, Sides sides) {
  const Part part = stripped_part(text.bytes(), characters, sides);
  return part_of(text, part.begin, part.end);
}

std::string_view stripped(std::string_view text) {
  const Part part = stripped_part(text, std::nullopt, Sides::kBoth);
  return text.substr(part.begin, part.end - part.begin);
}

std::vector<Text> split(Rendering& rendering, const Text& text,
                        std::optional<std::string_view> separator, std::int64_t most,
                        bool from_end) {
  const std::string_view bytes = text.bytes();
  std::vector<Part> parts;
  if (separator) {
    parts = from_end ? separated_from_end(rendering, bytes, *separator, most)
                     : separated(rendering, bytes, *separator, most);
  } else {
    parts = from_end ? words_from_end(rendering, bytes, most) : words(rendering, bytes, most);
  }
  std::vector<Text> texts;
  if (rendering.failed()) return texts;
  texts.reserve(parts.size());
  for (const Part& part : parts) texts.push_back(part_of(text, part.begin, part.end));
  return texts;
}

std::vector<Text> split_lines(Rendering& rendering, const Text& text, bool keep_ends) {
  const std::string_view bytes = text.bytes();
  std::vector<Text> lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Character character = character_at(bytes, i);
    std::size_t end = i + character.size;
    if (is_line_break(character.code_point)) {
      if (!rendering.spend(1)) break;
      if (character.code_point == '\r' && end < bytes.size() && bytes[end] == '\n') ++end;
      lines.push_back(part_of(text, begin, keep_ends ? end : i));
      begin = end;
    }
    i = end;
  }
  if (begin < bytes.size()) lines.push_back(part_of(text, begin, bytes.size()));
  return lines;
}

Text replace(Rendering& rendering, const Text& text, std::string_view old, const Text& by,
             std::int64_t most) {
  const std::string_view bytes = text.bytes();
  TextBuilder result;
  std::size_t kept = 0;
  std::size_t at = 0;
  for (std::int64_t done = 0; most < 0 || done < most; ++done) {
    const std::size_t found = find_text(bytes, old, at);
    if (found == std::string_view::npos || !rendering.fits(result.size() + by.size()) ||
        !rendering.spend(1))
      break;
    result.append(text, kept, found);
    result.append(by);
    kept = found + old.size();
    if (!old.empty()) {
      at = kept;
    } else if (found < bytes.size()) {
      at = found + character_size(bytes[found]);
    } else {
      break;
    }
  }
  result.append(text, kept, bytes.size());
  return rendering.may_make_text(result.size()) ? result.take() : Text();
}

std::int64_t count(std::string_view text, std::string_view part) {
  if (part.empty()) return static_cast<std::int64_t>(count_characters(text)) + 1;
  std::int64_t found = 0;
  for (std::size_t at = find_text(text, part, 0); at != std::string_view::npos;
       at = find_text(text, part, at + part.size()))
    ++found;
  return found;
}

bool is_upper_text(std::string_view text) { return has_case<is_upper>(text); }
bool is_lower_text(std::string_view text) { return has_case<is_lower>(text); }

}  // namespace polystate::chat_template
