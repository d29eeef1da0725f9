#include "grammar/schema_texts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/json.h"
#include "grammar/character_set.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Written = nlohmann::ordered_json;

// Formats that xgrammar enforces.
constexpr std::string_view kFormats[] = {
    "email", "date", "time", "date-time", "duration", "ipv4", "ipv6", "uuid", "uri", "hostname",
};

struct FormatExpression {
  std::string_view format;
  std::string_view expression;
};
// Those in which it takes any byte for a character: RFC 6901.
constexpr FormatExpression kExpressions[] = {
    {"json-pointer", "^(/([^/~]|~[01])*)*$"},
    {"relative-json-pointer", "^(0|[1-9][0-9]*)(#|(/([^/~]|~[01])*)*)$"},
};

Error not_beside(std::string_view word, std::string_view other) {
  return Error{ErrorCode::kUnsupported,
               "'" + std::string(word) + "' is not enforced beside '" + std::string(other) + "'"};
}

Result<TextLengths> lengths_in(const Json::Object& schema) {
  const Result<std::int64_t> least = count_of(schema, "minLength", 0);
  if (!least) return least.error();
  const Result<std::int64_t> most = count_of(schema, "maxLength", TextPattern::kNoLimit);
  if (!most) return most.error();
  if (*most != TextPattern::kNoLimit && *most < *least) {
    return Error{ErrorCode::kContract, "'minLength' is " + std::to_string(*least) +
                                           ", and 'maxLength' is " + std::to_string(*most)};
  }
  return TextLengths{*least, *most};
}

// The word of a schema's expression, and the expression.
struct Source {
  std::string_view word;
  std::string_view expression;
};

Result<std::optional<Source>> source_in(const Json::Object& schema) {
  const Json* const pattern = schema.find("pattern");
  const Json* const format = schema.find("format");
  const bool has_format = format != nullptr && is_enforced_format(*format);
  const std::optional<Source> none;
  if (pattern != nullptr) {
    const auto* const text = std::get_if<std::string>(&pattern->value);
    if (text == nullptr) return Error{ErrorCode::kContract, "'pattern' must be a string"};
    if (has_format) return not_beside("pattern", "format");
    return std::optional(Source{"pattern", *text});
  }
  if (!has_format) return none;
  const auto* const found = std::ranges::find(kExpressions, std::get<std::string>(format->value),
                                              &FormatExpression::format);
  if (found == std::end(kExpressions)) return none;
  return std::optional(Source{"format", found->expression});
}

}  // namespace

bool is_enforced_format(const Json& format) {
  const auto* const name = std::get_if<std::string>(&format.value);
  return name != nullptr &&
         (std::ranges::count(kFormats, *name) > 0 ||
          std::ranges::count(kExpressions, *name, &FormatExpression::format) > 0);
}

Result<TextPattern> searched_texts(std::string_view expression, std::string_view word) {
  Result<TextPattern> pattern = parse_pattern(expression);
  if (pattern) {
    const Status status = check_repetitions(*pattern);
    pattern = status ? texts_with(*std::move(pattern)) : Result<TextPattern>(status.error());
  }
  if (pattern) return pattern;
  return Error{pattern.error().code, "'" + std::string(word) + "': " + pattern.error().message};
}

Result<std::int64_t> count_of(const Json::Object& schema, std::string_view word,
                              std::int64_t otherwise) {
  constexpr double kMost = 999'999'999;
  const Json* const found = schema.find(word);
  if (found == nullptr) return otherwise;
  double count = -1;
  if (const auto* const whole = std::get_if<std::int64_t>(&found->value))
    count = static_cast<double>(*whole);
  if (const auto* const whole = std::get_if<std::uint64_t>(&found->value))
    count = static_cast<double>(*whole);
  if (const auto* const number = std::get_if<double>(&found->value)) count = *number;
  const bool is_limit = otherwise == TextPattern::kNoLimit;
  if (count > kMost && is_limit) return otherwise;
  if (count >= 0 && count <= kMost && count == std::trunc(count))
    return static_cast<std::int64_t>(count);
  return Error{ErrorCode::kContract, "'" + std::string(word) +
                                         "' must be a whole number up to 999999999, is " +
                                         described(*found)};
}

Result<Written> text_schema(const Json::Object& schema, TextForm form) {
  const Result<TextLengths> lengths = lengths_in(schema);
  if (!lengths) return lengths.error();
  const Result<std::optional<Source>> source = source_in(schema);
  if (!source) return source.error();
  const bool has_lengths = lengths->least > 0 || lengths->most != TextPattern::kNoLimit;
  const std::string_view length = lengths->least > 0 ? "minLength" : "maxLength";
  const Json* const format = schema.find("format");
  Written found = Written::object();
  found["type"] = "string";
  if (!*source && format != nullptr && is_enforced_format(*format)) {
    if (has_lengths) return not_beside(length, "format");
    found["format"] = std::get<std::string>(format->value);
    return found;
  }
  if (!*source && !has_lengths) return found;
  Result<TextPattern> texts =
      TextPattern::repetition(TextPattern::of(CharacterSet::all()), lengths->least, lengths->most);
  if (*source) {
    texts = searched_texts((*source)->expression, (*source)->word);
    if (texts && !limit_lengths(*texts, *lengths)) return not_beside(length, (*source)->word);
  }
  if (!texts) return texts.error();
  const Result<std::string> expression = expression_of(*texts, form);
  if (!expression) return expression.error();
  found["pattern"] = *expression;
  return found;
}

}  // namespace polystate::grammar
