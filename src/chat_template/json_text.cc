#include "chat_template/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/number.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

void append_unit(std::uint32_t unit, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "\\u";
  for (unsigned shift = 16; shift > 0; shift -= 4) text += kDigits[(unit >> (shift - 4)) & 0xFU];
}

// What JSON writes for a character; empty where it writes it as it is.
std::string json_escape(char32_t code_point, bool ensure_ascii) {
  switch (code_point) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  std::string text;
  if (code_point < 0x20 || (ensure_ascii && code_point > 0x7E && code_point < 0x10000)) {
    append_unit(code_point, text);
  } else if (ensure_ascii && code_point >= 0x10000) {
    append_unit(0xD800 + ((code_point - 0x10000) >> 10U), text);
    append_unit(0xDC00 + ((code_point - 0x10000) & 0x3FFU), text);
  }
  return text;
}

class JsonWriter {
 public:
  JsonWriter(Rendering& rendering, const JsonStyle& style) : rendering_(rendering), style_(style) {}

  void write(const Value& value) {
    if (!rendering_.fits(builder_.size()) || !rendering_.spend(1)) return;
    switch (value.kind()) {
      case Value::Kind::kNone:
      case Value::Kind::kBoolean:
      case Value::Kind::kInteger:
      case Value::Kind::kReal:
        return builder_.append(scalar(value), value.origin());
      case Value::Kind::kString:
        return write_string(value.text());
      case Value::Kind::kList:
      case Value::Kind::kTuple:
        return write_list(value.elements());
      case Value::Kind::kDict:
        return write_dict(value.dict());
      default:
        rendering_.fail("Object of type " + value.type_name() + " is not JSON serializable");
    }
  }

  Text take() { return builder_.take(); }

 private:
  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.kind() == Value::Kind::kBoolean) return value.as_boolean() ? "true" : "false";
    if (value.is_integer()) return std::to_string(value.as_integer());
    const double real = value.as_real();
    if (std::isnan(real)) return "NaN";
    if (std::isinf(real)) return real < 0 ? "-Infinity" : "Infinity";
    return real_text(real);
  }

  void append(std::string_view bytes) { builder_.append(bytes, Origin::kTemplate); }

  void write_string(const Text& text) {
    const std::string_view bytes = text.bytes();
    append("\"");
    std::size_t kept = 0;
    for (std::size_t i = 0; i < bytes.size();) {
      const Utf8Character character = character_at(bytes, i);
      const std::string escape = json_escape(character.code_point, style_.ensure_ascii);
      if (!escape.empty()) {
        builder_.append(text, kept, i);
        builder_.append(escape, text.origin_at(i));
        kept = i + character.size;
      }
      i += character.size;
    }
    builder_.append(text, kept, bytes.size());
    append("\"");
  }

  // Begins a line, where there are lines.
  void start_line() {
    if (!style_.indent) return;
    append("\n");
    for (std::size_t i = 0; i < level_; ++i) builder_.append(*style_.indent);
  }

  template <typename Range, typename Write>
  void write_items(const Range& items, std::string_view brackets, Write&& write_item) {
    append(brackets.substr(0, 1));
    ++level_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) builder_.append(style_.item_separator);
      first = false;
      start_line();
      write_item(item);
      if (rendering_.failed()) return;
    }
    --level_;
    if (!first) start_line();
    append(brackets.substr(1));
  }

  void write_list(const Elements& elements) {
    write_items(elements, "[]", [this](const Value& element) { write(element); });
  }

  void write_dict(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::ranges::stable_sort(entries, [this](const Dict::Entry* a, const Dict::Entry* b) {
        return less(rendering_, a->first, b->first);
      });
    }
    write_items(entries, "{}", [this](const Dict::Entry* entry) {
      write_key(entry->first);
      builder_.append(style_.key_separator);
      write(entry->second);
    });
  }

  void write_key(const Value& key) {
    if (key.is_string()) return write_string(key.text());
    if (!key.is_number() && !key.is_none()) {
      rendering_.fail("keys must be str, int, float, bool or None, not " + key.type_name());
      return;
    }
    builder_.append("\"" + scalar(key) + "\"", key.origin());
  }

  Rendering& rendering_;
  const JsonStyle& style_;
  TextBuilder builder_;
  std::size_t level_ = 0;
};

}  // namespace

Text json_of(Rendering& rendering, const Value& value, const JsonStyle& style) {
  JsonWriter writer(rendering, style);
  writer.write(value);
  Text text = writer.take();
  if (!rendering.may_make_text(text.size())) return {};
  return text;
}

}  // namespace polystate::chat_template
