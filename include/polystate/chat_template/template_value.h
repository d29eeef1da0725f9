#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

namespace chat_template {
class Value;
}  // namespace chat_template

// A value that a template is given, as Python has them. Immutable and shared by copies. A value
// that was moved from is Python's None.
class TemplateValue {
 public:
  // Of values in one another.
  static constexpr std::size_t kMaxDepth = 300;

  TemplateValue();  // none
  explicit TemplateValue(chat_template::Value value);
  TemplateValue(const TemplateValue& other);
  TemplateValue(TemplateValue&& other) noexcept;
  TemplateValue& operator=(const TemplateValue& other);
  TemplateValue& operator=(TemplateValue&& other) noexcept;
  ~TemplateValue();

  static TemplateValue boolean(bool value);
  static TemplateValue integer(std::int64_t value);
  static TemplateValue real(double value);
  // Malformed UTF-8 is read as U+FFFD, as by a tokenizer. `trusted`: control tokens in it are
  // control tokens.
  static TemplateValue string(std::string_view text, bool trusted = false);
  // A text that a model answered: RenderedText::answers says where it is in a rendering. It is
  // trusted no more than others.
  static TemplateValue answer(std::string_view text);
  // kContract: the values are too deep in one another, or a key is a list or a dictionary.
  static Result<TemplateValue> list(const std::vector<TemplateValue>& elements);
  static Result<TemplateValue> tuple(const std::vector<TemplateValue>& elements);
  static Result<TemplateValue> dict(
      const std::vector<std::pair<TemplateValue, TemplateValue>>& entries);
  // A JSON document (RFC 8259). kContract where it is none.
  static Result<TemplateValue> parse_json(std::string_view document);

  // The value as a JSON document, a tuple as a list. kContract for what JSON has not.
  [[nodiscard]] Result<std::string> to_json() const;

  // Equal as Python's values are, wherever they come from.
  friend bool operator==(const TemplateValue& left, const TemplateValue& right);

  [[nodiscard]] const chat_template::Value& value() const;

 private:
  std::unique_ptr<chat_template::Value> value_;  // null: none
};

}  // namespace polystate
