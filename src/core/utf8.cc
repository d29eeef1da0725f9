#include "core/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace polystate {
namespace {

struct Scan {
  std::uint32_t size;  // bytes that belong together
  bool valid;
  bool incomplete;
};

struct Range {
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

// What the second byte may be after `lead` (Unicode 15, table 3-7).
Range second_byte(unsigned char lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {};
  }
}

// Reads one character that starts with a byte of 0x80 or more.
Scan scan_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0xC2 || lead > 0xF4) return {1, false, false};
  const std::uint32_t size = character_size(text[0]);
  Range range = second_byte(lead);
  for (std::uint32_t i = 1; i < size; ++i) {
    if (i == text.size()) return {i, false, true};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < range.low || byte > range.high) return {i, false, false};
    range = {};
  }
  return {size, true, false};
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) return {static_cast<char32_t>(text[0]), 1};
  return scan_character(text).valid ? character_at(text, 0) : Utf8Character{0, 0};
}

std::size_t ascii_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position + sizeof(std::uint64_t) <= text.size()) {
    std::uint64_t block = 0;
    std::memcpy(&block, text.data() + position, sizeof(block));
    if ((block & 0x8080808080808080U) != 0) break;
    position += sizeof(block);
  }
  while (position < text.size() && static_cast<unsigned char>(text[position]) < 0x80) ++position;
  return position;
}

std::size_t valid_prefix(std::string_view text) {
  std::size_t position = 0;
  while (true) {
    position += ascii_prefix(text.substr(position));
    while (position < text.size() && static_cast<unsigned char>(text[position]) >= 0x80) {
      const Scan scan = scan_character(text.substr(position));
      if (!scan.valid) return position;
      position += scan.size;
    }
    if (position == text.size()) return position;
  }
}

bool is_utf8(std::string_view bytes) { return valid_prefix(bytes) == bytes.size(); }

MalformedUtf8 malformed_at(std::string_view text) {
  const Scan scan = scan_character(text);
  return {scan.size, scan.incomplete};
}

std::size_t complete_prefix(std::string_view text) {
  constexpr std::size_t kLongest = 3;  // of a character that is not complete
  for (std::size_t back = 1; back <= std::min(kLongest, text.size()); ++back) {
    const std::size_t position = text.size() - back;
    if (!starts_character(text[position])) continue;
    const Scan scan = scan_character(text.substr(position));
    return !scan.valid && scan.incomplete ? position : text.size();
  }
  return text.size();
}

std::string repaired_utf8(std::string_view text) {
  std::string valid;
  for_each_utf8_part(text, [&](std::string_view part, bool is_valid) {
    valid += is_valid ? part : kReplacementCharacter;
  });
  return valid;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

void append_character(char32_t code_point, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto put_tail = [&](char32_t bits) { put(0x80U | (bits & 0x3FU)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | code_point >> 6U);
    put_tail(code_point);
  } else if (code_point < 0x10000) {
    put(0xE0U | code_point >> 12U);
    put_tail(code_point >> 6U);
    put_tail(code_point);
  } else {
    put(0xF0U | code_point >> 18U);
    put_tail(code_point >> 12U);
    put_tail(code_point >> 6U);
    put_tail(code_point);
  }
}

bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

bool is_unsafe_to_show(char32_t c) {
  return is_control(c) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace polystate
