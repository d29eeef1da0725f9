#pragma once

#include <array>
#include <cstdint>
#include <span>

// Python's tables of characters, in the order of their code points
// (tools/make_character_tables.py).
namespace polystate::chat_template {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// Characters `step` apart that become others, `difference` away.
struct CaseRange {
  char32_t first;
  char32_t last;
  std::uint32_t step;
  std::int32_t difference;
};

// A character that becomes two or three; 0: none.
struct CaseExpansion {
  char32_t code_point;
  std::array<char32_t, 3> code_points;
};

struct CaseTable {
  std::span<const CaseRange> ranges;
  std::span<const CaseExpansion> expansions;
};

std::span<const CharacterRange> alphabetic_ranges();
std::span<const CharacterRange> decimal_ranges();  // each begins with a zero
std::span<const CharacterRange> digit_ranges();
std::span<const CharacterRange> numeric_ranges();
std::span<const CharacterRange> unprintable_ranges();
std::span<const CharacterRange> uppercase_ranges();
std::span<const CharacterRange> lowercase_ranges();
std::span<const CharacterRange> case_ignorable_ranges();
std::span<const CharacterRange> identifier_start_ranges();
std::span<const CharacterRange> identifier_part_ranges();
CaseTable upper_table();
CaseTable lower_table();
CaseTable title_table();

}  // namespace polystate::chat_template
