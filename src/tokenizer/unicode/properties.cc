#include "tokenizer/unicode/properties.h"

#include <utf8proc.h>

namespace polystate::tokenizer {
namespace {

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

bool is_ascii_punctuation(char32_t code_point) {
  return (code_point >= '!' && code_point <= '/') || (code_point >= ':' && code_point <= '@') ||
         (code_point >= '[' && code_point <= '`') || (code_point >= '{' && code_point <= '~');
}

bool is_white_space(char32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
  if (code_point == 0x85) return true;
  const utf8proc_category_t c = category(code_point);
  return c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

bool is_punctuation(char32_t code_point) {
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

bool is_numeric(char32_t code_point) {
  if (code_point < 0x80) return code_point >= '0' && code_point <= '9';
  const utf8proc_category_t c = category(code_point);
  return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t code_point) {
  const utf8proc_category_t c = category(code_point);
  return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool is_control_format_or_private(char32_t code_point) {
  if (code_point < 0x80) return code_point < 0x20 || code_point == 0x7F;
  const utf8proc_category_t c = category(code_point);
  return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO;
}

bool is_nonspacing_mark(char32_t code_point) {
  return code_point >= 0x300 && category(code_point) == UTF8PROC_CATEGORY_MN;
}

LowerCase lower_case(char32_t code_point) {
  if (code_point < 0x80) {
    const bool upper = code_point >= 'A' && code_point <= 'Z';
    return {{upper ? code_point + ('a' - 'A') : code_point}, 1};
  }
  if (code_point == 0x130) return {{'i', 0x307}, 2};
  const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point));
  return {{static_cast<char32_t>(lower)}, 1};
}

}  // namespace polystate::tokenizer
