#include "chat_template/characters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "chat_template/character_tables.h"

namespace polystate::chat_template {
namespace {

// The range that has a code point; nullptr where none has.
const CharacterRange* range_of(std::span<const CharacterRange> ranges, char32_t code_point) {
  const auto range = std::ranges::lower_bound(ranges, code_point, {}, &CharacterRange::last);
  return range != ranges.end() && range->first <= code_point ? &*range : nullptr;
}

bool is_in(std::span<const CharacterRange> ranges, char32_t code_point) {
  return range_of(ranges, code_point) != nullptr;
}

CaseMapping mapping_of(const CaseTable& table, char32_t code_point) {
  const auto expansion =
      std::ranges::lower_bound(table.expansions, code_point, {}, &CaseExpansion::code_point);
  if (expansion != table.expansions.end() && expansion->code_point == code_point) {
    const std::size_t count = expansion->code_points[2] == 0 ? 2 : 3;
    return {expansion->code_points, count};
  }
  const auto range = std::ranges::lower_bound(table.ranges, code_point, {}, &CaseRange::last);
  const bool changes = range != table.ranges.end() && range->first <= code_point &&
                       (code_point - range->first) % range->step == 0;
  if (!changes) return {{code_point}, 1};
  const auto changed = static_cast<std::int32_t>(code_point) + range->difference;
  return {{static_cast<char32_t>(changed)}, 1};
}

}  // namespace

bool is_space(char32_t code_point) {
  if (code_point < 0x80) {
    return code_point == ' ' || (code_point >= '\t' && code_point <= '\r') ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
         (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 ||
         code_point == 0x2029 || code_point == 0x202F || code_point == 0x205F ||
         code_point == 0x3000;
}

bool is_line_break(char32_t code_point) {
  return (code_point >= '\n' && code_point <= '\r') || (code_point >= 0x1C && code_point <= 0x1E) ||
         code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

bool is_printable(char32_t code_point) { return !is_in(unprintable_ranges(), code_point); }
bool is_alphabetic(char32_t code_point) { return is_in(alphabetic_ranges(), code_point); }
bool is_decimal(char32_t code_point) { return is_in(decimal_ranges(), code_point); }
bool is_digit(char32_t code_point) { return is_in(digit_ranges(), code_point); }
bool is_numeric(char32_t code_point) { return is_in(numeric_ranges(), code_point); }

bool is_alphanumeric(char32_t code_point) {
  return is_alphabetic(code_point) || is_numeric(code_point);
}

bool is_upper(char32_t code_point) { return is_in(uppercase_ranges(), code_point); }
bool is_lower(char32_t code_point) { return is_in(lowercase_ranges(), code_point); }

bool is_title(char32_t code_point) {
  const auto changes = [&](const CaseMapping& mapping) {
    return mapping.count > 1 || mapping.code_points[0] != code_point;
  };
  return changes(upper_of(code_point)) && changes(lower_of(code_point)) && !is_upper(code_point) &&
         !is_lower(code_point);
}

bool is_case_ignorable(char32_t code_point) { return is_in(case_ignorable_ranges(), code_point); }
bool is_identifier_start(char32_t code_point) {
  return is_in(identifier_start_ranges(), code_point);
}
bool is_identifier_part(char32_t code_point) { return is_in(identifier_part_ranges(), code_point); }

int decimal_value(char32_t code_point) {
  const CharacterRange* const range = range_of(decimal_ranges(), code_point);
  return range == nullptr ? 0 : static_cast<int>((code_point - range->first) % 10);
}

CaseMapping upper_of(char32_t code_point) { return mapping_of(upper_table(), code_point); }
CaseMapping lower_of(char32_t code_point) { return mapping_of(lower_table(), code_point); }
CaseMapping title_of(char32_t code_point) { return mapping_of(title_table(), code_point); }

}  // namespace polystate::chat_template
