#include "chat_template/percent_format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "chat_template/arguments.h"
#include "chat_template/number_format.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

constexpr std::int64_t kMostDigits = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether a value that is not used is an error: not where Python takes it for a mapping.
bool is_single(const Value& value) {
  return value.is_number() || value.is_string() || value.is_none();
}

class PercentFormatter {
 public:
  PercentFormatter(Rendering& rendering, const Text& format, const Value& values)
      : rendering_(rendering), format_(format), bytes_(format.bytes()), values_(values) {}

  Value run() {
    for (std::size_t next = 0; at_ < bytes_.size(); at_ = next) {
      next = std::min(bytes_.find('%', at_), bytes_.size());
      result_.append(format_, at_, next);
      if (next == bytes_.size()) break;
      at_ = next + 1;
      write_item();
      if (rendering_.failed() || !rendering_.fits(result_.size())) return {};
      next = at_;
    }
    const bool is_tuple = values_.kind() == Value::Kind::kTuple;
    const bool all_used =
        is_tuple ? used_ == values_.elements().size() : used_ == 1 || !is_single(values_);
    if (!all_used) return rendering_.fail("not all arguments converted during string formatting");
    if (!rendering_.may_make_text(result_.size())) return {};
    return Value::string(result_.take());
  }

 private:
  [[nodiscard]] char current() const { return at_ < bytes_.size() ? bytes_[at_] : '\0'; }

  // Reads what follows a '%', and writes what it stands for.
  void write_item() {
    std::optional<Value> named;
    if (current() == '(') named = read_named();
    const Flags flags = read_flags();
    NumberFormat format = read_format(flags);
    if (at_ >= bytes_.size()) {
      rendering_.fail("incomplete format");
      return;
    }
    const char type = bytes_[at_++];
    if (type == '%') return result_.append("%", Origin::kTemplate);
    const Value value = named ? *named : next_value();
    if (rendering_.failed()) return;
    const bool is_text = type == 's' || type == 'r' || type == 'c';
    if (flags.zero && format.align == '>' && !is_text) {
      format.align = '=';
      format.fill = "0";
    }
    write_value(value, type, format);
  }

  struct Flags {
    bool left = false;
    bool plus = false;
    bool space = false;
    bool alternate = false;
    bool zero = false;
  };

  Flags read_flags() {
    Flags flags;
    for (; at_ < bytes_.size(); ++at_) {
      switch (bytes_[at_]) {
        case '-':
          flags.left = true;
          break;
        case '+':
          flags.plus = true;
          break;
        case ' ':
          flags.space = true;
          break;
        case '#':
          flags.alternate = true;
          break;
        case '0':
          flags.zero = true;
          break;
        default:
          return flags;
      }
    }
    return flags;
  }

  // Reads the width, the precision and a size, which has no effect.
  NumberFormat read_format(const Flags& flags) {
    NumberFormat format;
    format.sign = flags.plus ? '+' : flags.space ? ' ' : '-';
    format.alternate = flags.alternate;
    format.width = read_length();
    format.align = flags.left || format.width < 0 ? '<' : '>';
    format.width = std::abs(format.width);
    if (current() == '.') {
      ++at_;
      format.precision = std::max<std::int64_t>(read_length(), 0);
    }
    if (current() == 'h' || current() == 'l' || current() == 'L') ++at_;
    return format;
  }

  Value read_named() {
    std::size_t depth = 1;
    const std::size_t begin = ++at_;
    for (; at_ < bytes_.size() && depth > 0; ++at_) {
      if (current() == '(') ++depth;
      if (current() == ')') --depth;
    }
    if (depth > 0) return rendering_.fail("incomplete format key");
    if (values_.kind() != Value::Kind::kDict) return rendering_.fail("format requires a mapping");
    const std::string_view key = bytes_.substr(begin, at_ - 1 - begin);
    const Value* const value = values_.dict().find(key);
    if (value == nullptr) return rendering_.fail("there is no " + quoted(key) + " to format");
    used_ = 1;
    return *value;
  }

  Value next_value() {
    if (values_.kind() == Value::Kind::kTuple) {
      if (used_ < values_.elements().size()) return values_.elements()[used_++];
    } else if (used_++ == 0) {
      return values_;
    }
    return rendering_.fail("not enough arguments for format string");
  }

  // A width or a precision, given here or among the values; 0: none.
  std::int64_t read_length() {
    if (current() == '*') {
      ++at_;
      const Value value = next_value();
      if (rendering_.failed()) return 0;
      if (!value.is_integer()) rendering_.fail("* wants int");
      return rendering_.failed() ? 0 : std::clamp(value.as_integer(), -kMostDigits, kMostDigits);
    }
    std::int64_t length = 0;
    for (; is_digit(current()); ++at_)
      length = std::min(length * 10 + (current() - '0'), kMostDigits);
    return length;
  }

  void write_value(const Value& value, char type, NumberFormat& format) {
    switch (type) {
      case 's':
        return result_.append(padded_text(rendering_, str_of(rendering_, value), format));
      case 'r':
        return result_.append(padded_text(rendering_, repr_of(rendering_, value), format));
      case 'd':
      case 'i':
      case 'u':
        return write_integer(whole_number(value), 'd', format);
      case 'o':
      case 'x':
      case 'X':
        return write_integer(value, type, format);
      case 'c':
        return write_character(value, format);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (!value.is_number()) {
          rendering_.fail("must be real number, not " + value.type_name());
          return;
        }
        format.type = type;
        return result_.append(
            formatted_number(rendering_, Value::real(value.as_real(), value.origin()), format));
      default:
        rendering_.fail("unsupported format character " + quoted(std::string(1, type)));
    }
  }

  Value whole_number(const Value& value) {
    if (value.kind() != Value::Kind::kReal) return value;
    const double whole = std::trunc(value.as_real());
    if (!(std::fabs(whole) < 9.2e18)) return rendering_.fail("a float has no integer of 64 bits");
    return Value::integer(static_cast<std::int64_t>(whole), value.origin());
  }

  void write_integer(const Value& value, char type, NumberFormat& format) {
    if (rendering_.failed()) return;
    if (!value.is_integer()) {
      rendering_.fail(std::string("%") + type + " format: an integer is required, not " +
                      value.type_name());
      return;
    }
    format.type = type;
    if (!format.precision) return result_.append(formatted_number(rendering_, value, format));
    // The precision is how many digits there are at least.
    NumberFormat digits = format;
    digits.precision = std::nullopt;
    digits.fill = "0";
    digits.align = '=';
    const bool has_sign = value.as_integer() < 0 || format.sign != '-';
    digits.width = *format.precision + (has_sign ? 1 : 0) + (format.alternate ? 2 : 0);
    format.precision = std::nullopt;
    const Text text = formatted_number(rendering_, value, digits);
    if (format.align == '=') {
      format.align = '>';
      format.fill = " ";
    }
    result_.append(padded_text(rendering_, text, format));
  }

  void write_character(const Value& value, NumberFormat& format) {
    format.precision = std::nullopt;
    if (value.is_string() && count_characters(value.bytes()) == 1)
      return result_.append(padded_text(rendering_, value.text(), format));
    if (!value.is_integer()) {
      rendering_.fail("%c requires int or char");
      return;
    }
    format.type = 'c';
    result_.append(formatted_number(rendering_, value, format));
  }

  Rendering& rendering_;
  const Text& format_;
  std::string_view bytes_;
  const Value& values_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  TextBuilder result_;
};

}  // namespace

Value percent_format(Rendering& rendering, const Value& format, const Value& values) {
  if (format.is_markup()) return rendering.fail("% of texts marked as safe is not supported");
  return PercentFormatter(rendering, format.text(), values).run();
}

}  // namespace polystate::chat_template
