#include "text/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/text/encoding.h"

namespace polystate::text {
namespace {

struct Scan {
  std::uint32_t size;  // bytes that belong together
  bool valid;
  bool incomplete;
};

// Reads one character that starts with a byte of 0x80 or more, after table 3-7 of the Unicode
// standard.
Scan scan_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::uint32_t size = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false, false};
  }
  for (std::uint32_t i = 1; i < size; ++i) {
    if (i == text.size()) return {i, false, true};
    if (byte(i) < low || byte(i) > high) return {i, false, false};
    low = 0x80;
    high = 0xBF;
  }
  return {size, true, false};
}

void append_sources(std::size_t begin, std::size_t size, std::size_t count,
                    std::vector<ByteRange>& sources) {
  const ByteRange range{static_cast<std::uint32_t>(begin),
                        static_cast<std::uint32_t>(begin + size)};
  sources.insert(sources.end(), count, range);
}

}  // namespace

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

void append_character(char32_t code_point, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::size_t ascii_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position + sizeof(std::uint64_t) <= text.size()) {
    std::uint64_t block = 0;
    std::memcpy(&block, text.data() + position, sizeof(block));
    if ((block & 0x8080808080808080) != 0) break;
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

Malformed malformed_at(std::string_view text) {
  const Scan scan = scan_character(text);
  return {scan.size, scan.incomplete};
}

void append_repaired(std::string_view text, std::string& out, std::vector<ByteRange>* sources) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t end = position + valid_prefix(text.substr(position));
    out += text.substr(position, end - position);
    for (; sources != nullptr && position < end; position += character_size(text[position])) {
      const std::uint32_t size = character_size(text[position]);
      append_sources(position, size, size, *sources);
    }
    position = end;
    if (position == text.size()) return;
    const Malformed malformed = malformed_at(text.substr(position));
    out += kReplacementCharacter;
    if (sources != nullptr) {
      append_sources(position, malformed.size, kReplacementCharacter.size(), *sources);
    }
    position += malformed.size;
  }
}

}  // namespace polystate::text
