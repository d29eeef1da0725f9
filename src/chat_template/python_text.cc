#include "chat_template/python_text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "chat_template/characters.h"
#include "chat_template/number.h"
#include "chat_template/object.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

void append_hexadecimal(std::uint32_t number, std::size_t digits, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = digits; i > 0; --i) text += kDigits[(number >> (4 * (i - 1))) & 0xFU];
}

// What repr() writes for a character that it does not write as it is.
std::string escaped(char32_t code_point) {
  switch (code_point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  std::string text = code_point < 0x100 ? "\\x" : code_point < 0x10000 ? "\\u" : "\\U";
  append_hexadecimal(code_point, code_point < 0x100 ? 2 : code_point < 0x10000 ? 4 : 8, text);
  return text;
}

void write_string_repr(const Text& text, TextBuilder& builder) {
  const std::string_view bytes = text.bytes();
  const bool single =
      bytes.find('\'') == std::string_view::npos || bytes.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  const std::string_view quotes(&quote, 1);
  builder.append(quotes, Origin::kTemplate);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Character character = character_at(bytes, i);
    const char32_t code_point = character.code_point;
    const bool needs_backslash = code_point == '\\' || code_point == static_cast<char32_t>(quote);
    if (needs_backslash || !is_printable(code_point)) {
      builder.append(text, kept, i);
      builder.append(needs_backslash ? std::string("\\") : escaped(code_point), text.origin_at(i));
      kept = needs_backslash ? i : i + character.size;
    }
    i += character.size;
  }
  builder.append(text, kept, bytes.size());
  builder.append(quotes, Origin::kTemplate);
}

void write_dict(Rendering& rendering, const Dict& dict, TextBuilder& builder) {
  builder.append("{", Origin::kTemplate);
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) builder.append(", ", Origin::kTemplate);
    first = false;
    write_repr(rendering, key, builder);
    builder.append(": ", Origin::kTemplate);
    write_repr(rendering, value, builder);
    if (rendering.failed()) return;
  }
  builder.append("}", Origin::kTemplate);
}

std::string number_repr(const Value& value) {
  if (value.kind() == Value::Kind::kBoolean) return value.as_boolean() ? "True" : "False";
  return value.is_integer() ? std::to_string(value.as_integer()) : real_text(value.as_real());
}

}  // namespace

void write_reprs(Rendering& rendering, const Elements& values, TextBuilder& builder) {
  bool first = true;
  for (const Value& value : values) {
    if (!first) builder.append(", ", Origin::kTemplate);
    first = false;
    write_repr(rendering, value, builder);
    if (rendering.failed()) return;
  }
}

void write_repr(Rendering& rendering, const Value& value, TextBuilder& builder) {
  if (!rendering.fits(builder.size()) || !rendering.spend(1)) return;
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return builder.append("Undefined", Origin::kTemplate);
    case Value::Kind::kNone:
      return builder.append("None", Origin::kTemplate);
    case Value::Kind::kBoolean:
    case Value::Kind::kInteger:
    case Value::Kind::kReal:
      return builder.append(number_repr(value), value.origin());
    case Value::Kind::kString:
      if (value.is_markup()) builder.append("Markup(", Origin::kTemplate);
      write_string_repr(value.text(), builder);
      if (value.is_markup()) builder.append(")", Origin::kTemplate);
      return;
    case Value::Kind::kList:
      builder.append("[", Origin::kTemplate);
      write_reprs(rendering, value.elements(), builder);
      return builder.append("]", Origin::kTemplate);
    case Value::Kind::kTuple:
      builder.append("(", Origin::kTemplate);
      write_reprs(rendering, value.elements(), builder);
      return builder.append(value.elements().size() == 1 ? ",)" : ")", Origin::kTemplate);
    case Value::Kind::kDict:
      return write_dict(rendering, value.dict(), builder);
    case Value::Kind::kObject:
      if (value.object().write(rendering, builder)) return;
      rendering.fail("the text of a " + value.type_name() + " has an address, which differs");
  }
}

Text repr_of(Rendering& rendering, const Value& value) {
  TextBuilder builder;
  write_repr(rendering, value, builder);
  if (!rendering.may_make_text(builder.size())) return {};
  return builder.take();
}

Text str_of(Rendering& rendering, const Value& value) {
  if (value.is_string())
    return rendering.may_read_text(value.text().memory()) ? value.text() : Text();
  if (value.is_undefined()) return {};
  return repr_of(rendering, value);
}

std::string quoted(std::string_view text) {
  TextBuilder builder;
  write_string_repr(Text(std::string(text), Origin::kTemplate), builder);
  return std::string(builder.take().bytes());
}

}  // namespace polystate::chat_template
