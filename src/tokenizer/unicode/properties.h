#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// Properties of code points, each of the version of Unicode that the operation has which asks for
// it (tables.h).
namespace polystate::tokenizer {

bool is_ascii_punctuation(char32_t code_point);

// White_Space: the separators (Z) and the controls that break lines or tabulate.
bool is_white_space(char32_t code_point);
// General categories, by their first letter.
bool is_punctuation(char32_t code_point);  // P
bool is_numeric(char32_t code_point);      // N
bool is_mark(char32_t code_point);         // M
// As BertNormalizer sees them: what it cleans away (Cc, Cf and Co), and accents (Mn).
bool is_bert_control(char32_t code_point);
bool is_bert_mark(char32_t code_point);

// A number of the script, as UnicodeScripts tells them apart; 0: of none.
std::uint8_t script_of(char32_t code_point);

// The full lower-case mapping without context (SpecialCasing.txt's one entry: U+0130 has two).
struct LowerCase {
  std::array<char32_t, 2> code_points;
  std::size_t count;
};
LowerCase lower_case(char32_t code_point);

}  // namespace polystate::tokenizer
