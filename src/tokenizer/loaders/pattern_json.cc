#include <optional>
#include <string>
#include <utility>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/regex/pattern.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {

std::optional<Pattern> read_pattern(const JsonCursor& json) {
  if (const auto plain = json.optional("String")) {
    std::string text = plain->string();
    if (!text.empty()) return Pattern(std::move(text));
  }
  const auto expression = json.optional("Regex");
  if (!expression && !json.optional("String")) {
    json.fail("it has neither 'String' nor 'Regex'");
    return std::nullopt;
  }
  const Result<Regex> regex =
      Regex::compile(expression ? expression->string() : "", RegexSyntax::kOniguruma);
  if (!regex) {
    json.fail(regex.error());
    return std::nullopt;
  }
  return Pattern(*regex);
}

}  // namespace polystate::tokenizer
