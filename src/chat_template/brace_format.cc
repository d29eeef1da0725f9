#include "chat_template/brace_format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/attributes.h"
#include "chat_template/number_format.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

constexpr std::int64_t kLongestWidth = 1'000'000'000;
constexpr int kNested = 2;  // a format, and the fields in it

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 && std::ranges::all_of(text, is_digit);
}

// Reads what is behind the ':' of a field.
class FormatReader {
 public:
  explicit FormatReader(std::string_view spec) : spec_(spec) {}

  // None where it is malformed.
  std::optional<NumberFormat> read() {
    const bool has_fill = read_alignment();
    if (current() == '+' || current() == '-' || current() == ' ') format_.sign = take();
    format_.alternate = skip('#');
    if (skip('0')) {
      if (!has_fill) format_.fill = "0";
      if (format_.align == 0) format_.align = '=';
    }
    format_.width = number();
    if (current() == ',' || current() == '_') format_.grouping = take();
    if (skip('.')) {
      if (!is_digit(current())) return std::nullopt;
      format_.precision = number();
    }
    if (at_ < spec_.size()) format_.type = take();
    return at_ == spec_.size() ? std::optional(format_) : std::nullopt;
  }

 private:
  [[nodiscard]] char current() const { return at_ < spec_.size() ? spec_[at_] : '\0'; }
  char take() { return spec_[at_++]; }

  bool skip(char c) {
    if (at_ == spec_.size() || spec_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    while (is_digit(current())) value = std::min(value * 10 + (take() - '0'), kLongestWidth);
    return value;
  }

  // Reads an alignment, and what fills the rest; whether there is the latter.
  bool read_alignment() {
    if (spec_.empty()) return false;
    const std::size_t size = character_size(spec_[0]);
    if (size < spec_.size() && is_align(spec_[size])) {
      format_.fill = spec_.substr(0, size);
      format_.align = spec_[size];
      at_ = size + 1;
      return true;
    }
    if (is_align(spec_[0])) format_.align = take();
    return false;
  }

  std::string_view spec_;
  std::size_t at_ = 0;
  NumberFormat format_;
};

// format(value, spec).
Text formatted(Rendering& rendering, const Value& value, std::string_view spec) {
  if (spec.empty()) return str_of(rendering, value);
  if (!value.is_string() && !value.is_number()) {
    rendering.fail("a format is not for a " + value.type_name());
    return {};
  }
  const std::optional<NumberFormat> read = FormatReader(spec).read();
  if (!read) {
    rendering.fail("invalid format specifier " + quoted(spec));
    return {};
  }
  NumberFormat format = *read;
  if (value.is_number()) return formatted_number(rendering, value, format);
  const bool for_numbers = format.align == '=' || format.sign != '-' || format.alternate ||
                           format.grouping != 0 || (format.type != 0 && format.type != 's');
  if (for_numbers && !(format.fill == "0" && format.align == '=' && format.sign == '-' &&
                       !format.alternate && format.grouping == 0 && format.type == 0)) {
    rendering.fail("the format " + quoted(spec) + " is not for a str");
    return {};
  }
  if (format.align == 0 || format.align == '=') format.align = '<';
  return padded_text(rendering, value.text(), format);
}

class BraceFormatter {
 public:
  BraceFormatter(Rendering& rendering, const Arguments& arguments)
      : rendering_(rendering), arguments_(arguments) {}

  Text format(const Text& format, int nested) {
    const std::string_view bytes = format.bytes();
    TextBuilder result;
    if (nested < 0) {
      rendering_.fail("Max string recursion exceeded");
      return {};
    }
    for (std::size_t at = 0; at < bytes.size() && rendering_.spend(1);) {
      const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      result.append(format, at, brace);
      if (brace == bytes.size()) break;
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        result.append(format, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (bytes[brace] == '}') {
        rendering_.fail("Single '}' encountered in format string");
        break;
      }
      const std::size_t end = end_of_field(bytes, brace + 1);
      if (rendering_.failed()) break;
      result.append(field(part_of(format, brace + 1, end), nested));
      at = end + 1;
      if (!rendering_.fits(result.size())) break;
    }
    return result.take();
  }

 private:
  std::size_t end_of_field(std::string_view bytes, std::size_t begin) {
    std::size_t depth = 1;
    for (std::size_t i = begin; i < bytes.size(); ++i) {
      if (bytes[i] == '{') ++depth;
      if (bytes[i] == '}' && --depth == 0) return i;
    }
    rendering_.fail("expected '}' before end of string");
    return bytes.size();
  }

  // What a field stands for: "name!r:spec".
  Text field(const Text& text, int nested) {
    const std::string_view bytes = text.bytes();
    std::size_t name_end = 0;
    for (bool in_brackets = false; name_end < bytes.size(); ++name_end) {
      const char c = bytes[name_end];
      if (c == '[') in_brackets = true;
      if (c == ']') in_brackets = false;
      if (!in_brackets && (c == '!' || c == ':')) break;
    }
    Value value = value_of(bytes.substr(0, name_end));
    std::size_t spec = name_end;
    if (spec < bytes.size() && bytes[spec] == '!') {
      value = converted(value, spec + 1 < bytes.size() ? bytes[spec + 1] : '\0');
      spec += 2;
      if (spec < bytes.size() && bytes[spec] != ':')
        rendering_.fail("expected ':' after conversion specifier");
    }
    if (rendering_.failed()) return {};
    if (spec >= bytes.size()) return formatted(rendering_, value, "");
    const Text inner = format(part_of(text, spec + 1, bytes.size()), nested - 1);
    return rendering_.failed() ? Text() : formatted(rendering_, value, inner.bytes());
  }

  Value converted(const Value& value, char conversion) {
    if (conversion == 's') return Value::string(str_of(rendering_, value));
    if (conversion == 'r') return Value::string(repr_of(rendering_, value));
    return rendering_.fail("unknown conversion specifier " + quoted(std::string(1, conversion)));
  }

  // The argument that a name says, "user.names[0]".
  Value value_of(std::string_view name) {
    const std::size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, first_end));
    for (std::size_t at = first_end; at < name.size() && !rendering_.failed();) {
      if (name[at] == '.') {
        const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        value = get_attribute(rendering_, value, name.substr(at + 1, end - at - 1));
        if (end == at + 1) return rendering_.fail("Empty attribute in format string");
        at = end;
        continue;
      }
      const std::size_t end = name.find(']', at);
      if (name[at] != '[' || end == std::string_view::npos || end == at + 1)
        return rendering_.fail("malformed field " + quoted(name));
      const std::string_view key = name.substr(at + 1, end - at - 1);
      value = get_item(
          rendering_, value,
          is_number(key) ? Value::integer(std::stoi(std::string(key))) : Value::string(key));
      at = end + 1;
    }
    return value;
  }

  Value argument(std::string_view name) {
    const bool numbered = is_number(name);
    if (name.empty() || numbered) {
      if (numbered ? next_ > 0 : numbered_)
        return rendering_.fail("a format mixes numbered fields with others");
      if (numbered) numbered_ = true;
      const std::size_t i = numbered ? std::stoul(std::string(name)) : next_++;
      if (i < arguments_.positional.size()) return arguments_.positional[i];
      return rendering_.fail("Replacement index " + std::to_string(i) + " out of range");
    }
    if (!rendering_.spend(arguments_.named.size() / kNamesInStep)) return {};
    if (const Value* const value = arguments_.find(name)) return *value;
    return rendering_.fail("there is no " + quoted(name) + " to format");
  }

  Rendering& rendering_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
  bool numbered_ = false;
};

}  // namespace

Value brace_format(Rendering& rendering, const Value& format, const Arguments& arguments) {
  if (format.is_markup())
    return rendering.fail("format() of texts marked as safe is not supported");
  if (!rendering.may_read_text(format.text().size())) return {};
  Text text = BraceFormatter(rendering, arguments).format(format.text(), kNested);
  if (rendering.failed() || !rendering.may_make_text(text.size())) return {};
  return Value::string(std::move(text));
}

}  // namespace polystate::chat_template
