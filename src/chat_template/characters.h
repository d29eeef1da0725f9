#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// Properties of characters as Python's str has them.
namespace polystate::chat_template {

bool is_space(char32_t code_point);       // str.isspace
bool is_line_break(char32_t code_point);  // str.splitlines
bool is_printable(char32_t code_point);
bool is_alphabetic(char32_t code_point);
bool is_decimal(char32_t code_point);
bool is_digit(char32_t code_point);
bool is_numeric(char32_t code_point);
bool is_alphanumeric(char32_t code_point);
bool is_upper(char32_t code_point);
bool is_lower(char32_t code_point);
bool is_title(char32_t code_point);  // neither upper nor lower: U+01C5 and others
inline bool is_cased(char32_t code_point) {
  return is_upper(code_point) || is_lower(code_point) || is_title(code_point);
}
bool is_case_ignorable(char32_t code_point);
bool is_identifier_start(char32_t code_point);
bool is_identifier_part(char32_t code_point);

// The digit that a decimal character stands for.
int decimal_value(char32_t code_point);

// What a character becomes: up to three.
struct CaseMapping {
  std::array<char32_t, 3> code_points;
  std::size_t count;
};
CaseMapping upper_of(char32_t code_point);
CaseMapping lower_of(char32_t code_point);
CaseMapping title_of(char32_t code_point);

}  // namespace polystate::chat_template
