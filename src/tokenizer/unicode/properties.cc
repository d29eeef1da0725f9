#include "tokenizer/unicode/properties.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "tokenizer/unicode/tables.h"

namespace polystate::tokenizer {
namespace {

bool is_in(std::span<const CodePointRange> ranges, char32_t code_point) {
  const auto range = std::ranges::lower_bound(ranges, code_point, {}, &CodePointRange::last);
  return range != ranges.end() && range->first <= code_point;
}

}  // namespace

bool is_ascii_punctuation(char32_t code_point) {
  return (code_point >= '!' && code_point <= '/') || (code_point >= ':' && code_point <= '@') ||
         (code_point >= '[' && code_point <= '`') || (code_point >= '{' && code_point <= '~');
}

bool is_white_space(char32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
  if (code_point < 0x1680) return code_point == 0x85 || code_point == 0xA0;
  return code_point == 0x1680 || (code_point >= 0x2000 && code_point <= 0x200A) ||
         code_point == 0x2028 || code_point == 0x2029 || code_point == 0x202F ||
         code_point == 0x205F || code_point == 0x3000;
}

bool is_punctuation(char32_t code_point) { return is_in(punctuation_ranges(), code_point); }

bool is_numeric(char32_t code_point) {
  if (code_point < 0x80) return code_point >= '0' && code_point <= '9';
  return is_in(numeric_ranges(), code_point);
}

bool is_mark(char32_t code_point) { return is_in(mark_ranges(), code_point); }

bool is_bert_control(char32_t code_point) {
  if (code_point < 0x80) return code_point < 0x20 || code_point == 0x7F;
  return is_in(bert_control_ranges(), code_point);
}

bool is_bert_mark(char32_t code_point) {
  return code_point >= 0x300 && is_in(bert_mark_ranges(), code_point);
}

std::uint8_t script_of(char32_t code_point) {
  const auto ranges = script_ranges();
  const auto range = std::ranges::lower_bound(ranges, code_point, {}, &ScriptRange::last);
  return range != ranges.end() && range->first <= code_point ? range->script : 0;
}

LowerCase lower_case(char32_t code_point) {
  if (code_point < 0x80) {
    const bool upper = code_point >= 'A' && code_point <= 'Z';
    return {{upper ? code_point + ('a' - 'A') : code_point}, 1};
  }
  if (code_point == 0x130) return {{'i', 0x307}, 2};
  const auto pairs = lower_cases();
  const auto pair = std::ranges::lower_bound(pairs, code_point, {}, &CodePointPair::code_point);
  const bool changes = pair != pairs.end() && pair->code_point == code_point;
  return {{changes ? pair->other : code_point}, 1};
}

}  // namespace polystate::tokenizer
