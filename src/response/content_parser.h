#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"
#include "polystate/core/result.h"
#include "tokenizer/regex/regex.h"

namespace polystate::response {

// How the text of a part becomes a value: transformers' content parsers, with their arguments, and
// with one of our own: `is_of_form`, for the parts of a form that polystate knows (forms.h).
class ContentParser {
 public:
  enum class Kind : std::uint8_t { kText, kInteger, kReal, kBoolean, kJson, kXmlInline, kKvLines };

  // `name`: "text", "int", "float", "bool", "json", "xml-inline" or "kv-lines"; `arguments`: an
  // object, or null. kContract for others.
  static Result<ContentParser> create(std::string_view name, const Json* arguments);

  // kContract: the text is not of this kind.
  [[nodiscard]] Result<chat_template::Value> parse(std::string_view text,
                                                   chat_template::Origin origin) const;
  // Whether the value is the text itself, white space around it apart.
  [[nodiscard]] bool keeps_text() const {
    return kind_ != Kind::kJson && kind_ != Kind::kXmlInline && kind_ != Kind::kKvLines;
  }
  // Whether a text that is cut has a value like a whole one, with less in it.
  [[nodiscard]] bool is_any_part() const {
    return kind_ == Kind::kXmlInline || kind_ == Kind::kKvLines;
  }
  // Whether the part is of a form that polystate knows, and not of a model's own template.
  [[nodiscard]] bool is_of_form() const { return is_of_form_; }
  // Whether it is JSON of such a form, as RFC 8259 has it.
  [[nodiscard]] bool is_json_of_form() const {
    return is_of_form_ && kind_ == Kind::kJson && !is_dialect();
  }

 private:
  explicit ContentParser(Kind kind) : kind_(kind) {}

  Status read_arguments(const Json& arguments);
  Status read_delimiters(const Json& delimiters);
  Status read_value_parser(const Json& value_parser);

  [[nodiscard]] bool is_dialect() const { return unquoted_keys_ || !string_delims_.empty(); }
  // The text, without the space around it where that is asked for.
  [[nodiscard]] std::string_view stripped(std::string_view text) const;
  [[nodiscard]] Result<chat_template::Value> parse_integer(std::string_view text,
                                                           chat_template::Origin origin) const;
  [[nodiscard]] Result<chat_template::Value> parse_real(std::string_view text,
                                                        chat_template::Origin origin) const;
  [[nodiscard]] Result<chat_template::Value> parse_json(std::string_view text,
                                                        chat_template::Origin origin) const;
  // With strings between other delimiters, and names without quotes, as JSON has them.
  [[nodiscard]] Result<std::string> without_dialect(std::string_view text) const;
  [[nodiscard]] Result<chat_template::Value> parse_tags(std::string_view text,
                                                        chat_template::Origin origin) const;
  // With merge_duplicates, values of one name are a list.
  void add_tag(chat_template::Dict& tags, const chat_template::Value& key,
               chat_template::Value value) const;
  [[nodiscard]] Result<chat_template::Value> parse_lines(std::string_view text,
                                                         chat_template::Origin origin) const;
  // The value of a tag or a line.
  [[nodiscard]] Result<chat_template::Value> parse_inner(std::string_view text,
                                                         chat_template::Origin origin) const;

  Kind kind_;
  bool strip_ = true;
  bool is_of_form_ = false;
  // Of JSON.
  bool unquoted_keys_ = false;
  bool allow_non_json_ = false;
  std::vector<std::pair<std::string, std::string>> string_delims_ = {};
  std::optional<tokenizer::Regex> name_pattern_ = std::nullopt;  // of names without quotes
  // Of tags and lines.
  std::optional<tokenizer::Regex> tag_pattern_ = std::nullopt;
  bool merge_duplicates_ = false;
  std::string line_sep_ = "\n";
  std::string kv_sep_ = ":";
  std::shared_ptr<const ContentParser> value_parser_ = nullptr;
};

}  // namespace polystate::response
