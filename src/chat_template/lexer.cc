#include "chat_template/lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/characters.h"
#include "chat_template/number.h"
#include "chat_template/python_text.h"
#include "chat_template/string_literal.h"
#include "chat_template/value.h"
#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {
namespace {

// The longest first.
constexpr auto kOperators = std::to_array<std::string_view>(
    {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
     "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"});

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char32_t c) {
  return c == '_' || is_alphanumeric(c) || is_identifier_part(c);
}

// The digits behind "0x" and the like; none for other letters.
std::string_view digits_of_prefix(char letter) {
  switch (letter) {
    case 'x':
    case 'X':
      return "0123456789abcdefABCDEF";
    case 'o':
    case 'O':
      return "01234567";
    case 'b':
    case 'B':
      return "01";
    default:
      return "";
  }
}

// Line ends as "\n", without that of the last line.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string_view without_space_at_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && is_space(character_at(text, previous_character(text, end)).code_point))
    end = previous_character(text, end);
  return text.substr(0, end);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size() && !error_) read_data();
    if (error_) return *error_;
    add(Token::Kind::kEnd);
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }
  [[nodiscard]] char current() const { return at_ < source_.size() ? source_[at_] : '\0'; }

  void fail(std::string_view message) {
    if (!error_) error_ = syntax_error(line_, message);
  }

  void advance(std::size_t size) {
    line_ += static_cast<std::uint32_t>(std::ranges::count(source_.substr(at_, size), '\n'));
    at_ += size;
  }

  void add(Token::Kind kind, std::string_view text = {}) {
    tokens_.push_back({kind, line_, std::string(text), {}});
  }

  void skip_space() {
    while (at_ < source_.size()) {
      const Utf8Character character = character_at(source_, at_);
      if (!is_space(character.code_point)) return;
      advance(character.size);
    }
  }

  // Reads text up to the next tag, and the tag.
  void read_data() {
    std::size_t tag = source_.find('{', at_);
    while (tag != std::string_view::npos && !begins_tag(tag)) tag = source_.find('{', tag + 1);
    if (tag == std::string_view::npos) return add_data(source_.substr(at_));
    std::string_view text = source_.substr(at_, tag - at_);
    const std::size_t size = text.size();
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    if (sign == '-') {
      text = without_space_at_end(text);
    } else if (sign != '+' && kind != '{') {
      text = without_indentation(text);
    }
    add_data(text, size);
    advance(has_sign ? 3 : 2);
    if (kind == '#') {
      read_comment();
    } else if (kind == '{') {
      add(Token::Kind::kVariableBegin);
      read_code("}}", Token::Kind::kVariableEnd);
    } else if (const auto end = end_of_raw_tag()) {
      advance(*end);
      read_raw();
    } else {
      add(Token::Kind::kBlockBegin);
      read_code("%}", Token::Kind::kBlockEnd);
    }
  }

  [[nodiscard]] bool begins_tag(std::size_t position) const {
    const char next = position + 1 < source_.size() ? source_[position + 1] : '\0';
    return next == '%' || next == '{' || next == '#';
  }

  // Adds text, of which `size` bytes are then read.
  void add_data(std::string_view text, std::size_t size) {
    if (!text.empty()) add(Token::Kind::kData, text);
    advance(size);
  }
  void add_data(std::string_view text) { add_data(text, text.size()); }

  // Without the space between the begin of a line and the tag that follows.
  [[nodiscard]] std::string_view without_indentation(std::string_view text) const {
    const std::size_t line_begin = text.rfind('\n') + 1;  // npos + 1 is 0
    if (line_begin == 0 && !at_line_start_) return text;
    return without_space_at_end(text).size() <= line_begin ? text.substr(0, line_begin) : text;
  }

  // Skips what ends a tag. `trims`: one line end after it, too, where nothing says otherwise.
  void finish_tag(char sign, bool trims) {
    const std::size_t begin = at_;
    advance(sign == 0 ? 2 : 3);
    if (sign == '-') {
      skip_space();
    } else if (sign == 0 && trims && current() == '\n') {
      advance(1);
    }
    at_line_start_ = at_ > begin && source_[at_ - 1] == '\n';
  }

  void read_comment() {
    if (at_ == source_.size()) return;
    const std::size_t end = rest().find("#}");
    if (end == std::string_view::npos) return fail("Missing end of comment tag");
    const char sign = end > 0 ? rest()[end - 1] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    advance(has_sign ? end - 1 : end);
    finish_tag(has_sign ? sign : '\0', true);
  }

  // How many bytes of "raw %}" follow, where they do.
  [[nodiscard]] std::optional<std::size_t> end_of_raw_tag() const {
    std::size_t i = space_end(at_);
    if (!source_.substr(i).starts_with("raw")) return std::nullopt;
    i = space_end(i + 3);
    if (source_.substr(i).starts_with("%}")) return i + 2 - at_;
    if (source_.substr(i).starts_with("-%}")) return space_end(i + 3) - at_;
    return std::nullopt;
  }

  // The first position from `i` on where there is no space.
  [[nodiscard]] std::size_t space_end(std::size_t i) const {
    while (i < source_.size()) {
      const Utf8Character character = character_at(source_, i);
      if (!is_space(character.code_point)) break;
      i += character.size;
    }
    return i;
  }

  void read_raw() {
    if (at_ == source_.size()) return;
    at_line_start_ = source_[at_ - 1] == '\n';
    std::size_t tag = source_.find("{%", at_);
    while (tag != std::string_view::npos && !end_of_endraw(tag)) tag = source_.find("{%", tag + 1);
    if (tag == std::string_view::npos) return fail("Missing end of raw directive");
    std::string_view text = source_.substr(at_, tag - at_);
    const std::size_t size = text.size();
    if (source_[tag + 2] == '-') {
      text = without_space_at_end(text);
    } else if (source_[tag + 2] != '+') {
      text = without_indentation(text);
    }
    add_data(text, size);
    const std::size_t end = end_of_endraw(tag).value_or(tag);
    const bool has_sign = source_[end] != '%';
    const char sign = has_sign ? source_[end] : '\0';
    advance(end - tag);
    finish_tag(sign, true);
  }

  // Where a tag's end begins, with its sign, if the tag is "endraw".
  [[nodiscard]] std::optional<std::size_t> end_of_endraw(std::size_t tag) const {
    std::size_t i = tag + 2;
    if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) ++i;
    i = space_end(i);
    if (!source_.substr(i).starts_with("endraw")) return std::nullopt;
    i = space_end(i + 6);
    const bool has_sign = i < source_.size() && (source_[i] == '-' || source_[i] == '+');
    if (!source_.substr(has_sign ? i + 1 : i).starts_with("%}")) return std::nullopt;
    return i;
  }

  // Reads the tokens of a tag up to its end.
  void read_code(std::string_view end, Token::Kind end_kind) {
    std::string open;  // the brackets that close those that are open
    while (!error_ && at_ < source_.size()) {
      const char sign = current();
      const bool signed_end =
          (sign == '-' || (sign == '+' && end == "%}")) && rest().substr(1).starts_with(end);
      if (open.empty() && (signed_end || rest().starts_with(end))) {
        add(end_kind);
        return finish_tag(signed_end ? sign : '\0', end == "%}");
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const Utf8Character character = character_at(source_, at_);
    if (is_space(character.code_point)) return skip_space();
    if (is_digit(current())) return read_number();
    if (is_name_character(character.code_point)) return read_name();
    if (current() == '\'' || current() == '"') return read_string();
    const auto* const found = std::ranges::find_if(
        kOperators, [&](std::string_view text) { return rest().starts_with(text); });
    if (found == kOperators.end()) {
      return fail("unexpected char " + quoted(rest().substr(0, character.size)));
    }
    check_brackets(*found, open);
    add(Token::Kind::kOperator, *found);
    advance(found->size());
  }

  void check_brackets(std::string_view text, std::string& open) {
    if (text == "(") open += ')';
    if (text == "[") open += ']';
    if (text == "{") open += '}';
    if (text != ")" && text != "]" && text != "}") return;
    if (open.empty()) return fail("unexpected '" + std::string(text) + "'");
    if (open.back() != text[0]) {
      return fail("unexpected '" + std::string(text) + "', expected '" + open.back() + "'");
    }
    open.pop_back();
  }

  // How many bytes from `i` on are digits, of which '_' may separate two.
  [[nodiscard]] std::size_t digits_end(std::size_t i) const {
    const std::size_t begin = i;
    while (i < source_.size()) {
      const bool separates = source_[i] == '_' && i > begin && source_[i - 1] != '_' &&
                             i + 1 < source_.size() && is_digit(source_[i + 1]);
      if (!is_digit(source_[i]) && !separates) break;
      ++i;
    }
    return i;
  }

  // The end of a float that begins here; none where there is an integer.
  [[nodiscard]] std::optional<std::size_t> float_end() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return std::nullopt;
    const std::size_t whole = digits_end(at_);
    std::size_t end = whole;
    if (end < source_.size() && source_[end] == '.' && digits_end(end + 1) > end + 1)
      end = digits_end(end + 1);
    std::size_t exponent = end;
    if (exponent < source_.size() && (source_[exponent] == 'e' || source_[exponent] == 'E')) {
      ++exponent;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-'))
        ++exponent;
      if (digits_end(exponent) > exponent) return digits_end(exponent);
    }
    return end > whole ? std::optional(end) : std::nullopt;
  }

  // How many bytes from `i` on are some of `digits`, of which '_' may stand before each.
  [[nodiscard]] std::size_t run_end(std::size_t i, std::string_view digits) const {
    while (true) {
      const std::size_t next = i < source_.size() && source_[i] == '_' ? i + 1 : i;
      if (next >= source_.size() || digits.find(source_[next]) == std::string_view::npos) return i;
      i = next + 1;
    }
  }

  [[nodiscard]] std::size_t integer_end() const {
    if (source_[at_] != '0') return digits_end(at_);
    const std::string_view digits =
        digits_of_prefix(at_ + 1 < source_.size() ? source_[at_ + 1] : '\0');
    const std::size_t end = digits.empty() ? 0 : run_end(at_ + 2, digits);
    return end > at_ + 2 ? end : run_end(at_ + 1, "0");
  }

  void read_number() {
    const std::optional<std::size_t> real = float_end();
    const std::size_t end = real.value_or(integer_end());
    std::string digits(source_.substr(at_, end - at_));
    std::erase(digits, '_');
    add(Token::Kind::kConstant);
    if (real) {
      tokens_.back().number = Value::real(parse_real(digits).value_or(0));
    } else {
      const ParsedInteger parsed = parse_integer(digits, 0);
      if (parsed.outcome != ParsedInteger::Outcome::kValue)
        return fail("an integer has more than 64 bits, which are not supported");
      tokens_.back().number = Value::integer(parsed.value);
    }
    advance(end - at_);
  }

  void read_name() {
    std::size_t end = at_;
    bool is_identifier = is_identifier_start(character_at(source_, at_).code_point);
    while (end < source_.size()) {
      const Utf8Character character = character_at(source_, end);
      if (!is_name_character(character.code_point)) break;
      is_identifier = is_identifier && is_identifier_part(character.code_point);
      end += character.size;
    }
    if (!is_identifier) return fail("Invalid character in identifier");
    add(Token::Kind::kName, source_.substr(at_, end - at_));
    advance(end - at_);
  }

  void read_string() {
    const char quote = current();
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return fail(std::string("unexpected char '") + quote + "'");
    Result<std::string> text = unescaped(source_.substr(at_ + 1, end - at_ - 1));
    if (!text) return fail(text.error().message);
    add(Token::Kind::kString, *text);
    advance(end + 1 - at_);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view source) {
  const std::string text = with_plain_lines(source);
  return Lexer(text).run();
}

Error syntax_error(std::uint32_t line, std::string_view message) {
  return {ErrorCode::kContract, "line " + std::to_string(line) + ": " + std::string(message)};
}

}  // namespace polystate::chat_template
