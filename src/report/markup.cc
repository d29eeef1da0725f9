#include "report/markup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace polystate::report {
namespace {

// "U+202E".
void append_code(char32_t code_point, std::string& out) {
  std::array<char, 8> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(),
                                          static_cast<std::uint32_t>(code_point), 16);
  std::string hex(digits.data(), end);
  std::ranges::transform(hex, hex.begin(),
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  out.append("U+").append(4 - std::min<std::size_t>(4, hex.size()), '0').append(hex);
}

// XML has no way to write these, beside the controls.
bool is_no_character(char32_t c) { return (c & 0xFFFEU) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF); }

// What stands for a character of markup, nothing for others.
std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code_point, size] = first_character(text);
    const bool stays = code_point == U'\n' || code_point == U'\t';
    if (size == 0) {
      out += kReplacementCharacter;
      text.remove_prefix(malformed_at(text).size);
      continue;
    }
    if (!stays && (is_unsafe_to_show(code_point) || is_no_character(code_point))) {
      append_code(code_point, out);
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    const std::string_view entity = entity_of(c);
    if (entity.empty()) {
      out += c;
    } else {
      out += entity;
    }
  }
  return out;
}

std::string decimal(double value) {
  std::array<char, 400> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, 2);
  std::string text(buffer.data(), end);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string clipped(std::string_view text, std::size_t most) {
  const std::string valid = repaired_utf8(text);
  std::string out;
  std::size_t count = 0;
  std::size_t cut = 0;  // the length without the last character
  for (std::size_t i = 0; i < valid.size(); ++count) {
    if (count == most) return out.substr(0, cut) + "\u2026";
    cut = out.size();
    const std::size_t size = character_size(valid[i]);
    out += valid.substr(i, size);
    i += size;
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  constexpr char32_t kFirstWide = 0x1100;
  const std::string valid = repaired_utf8(text);
  std::size_t columns = 0;
  for (std::size_t i = 0; i < valid.size();) {
    const Utf8Character character = character_at(valid, i);
    columns += character.code_point >= kFirstWide ? 2 : 1;
    i += character.size;
  }
  return columns;
}

std::string grouped_digits(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string size_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return decimal(bytes) + std::string(kUnits.at(unit));
}

std::string title_element(std::string_view text) {
  return text.empty() ? std::string() : "<title>" + escaped(text) + "</title>";
}

}  // namespace polystate::report
