#include "response/content_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat_template/number.h"
#include "chat_template/python_text.h"
#include "chat_template/string_functions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"
#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "response/json_value.h"
#include "tokenizer/regex/deadline.h"
#include "tokenizer/regex/regex.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Value;

using NamedRange = std::pair<std::string, TextRange>;

constexpr std::size_t kShown = 200;  // bytes of a text in a message

Error refused(std::string message) { return {ErrorCode::kContract, std::move(message)}; }

std::string shown(std::string_view text) {
  const std::string_view begin = text.substr(0, kShown);
  return chat_template::quoted(begin.substr(0, complete_prefix(begin))) +
         (text.size() > kShown ? "..." : "");
}

Result<bool> boolean_of(const Json& json, std::string_view name) {
  if (const auto* const value = std::get_if<bool>(&json.value)) return *value;
  return refused(std::string(name) + " must be true or false, is " + described(json));
}

Result<std::string> string_of(const Json& json, std::string_view name) {
  if (const auto* const value = std::get_if<std::string>(&json.value)) return *value;
  return refused(std::string(name) + " must be a string, is " + described(json));
}

// Sets what a member of an object says, where it is there.
template <typename T>
Status set(T& to, const Json::Object& object, std::string_view name,
           Result<T> (*read)(const Json& json, std::string_view name)) {
  const Json* const found = object.find(name);
  if (found == nullptr) return {};
  Result<T> value = read(*found, name);
  if (!value) return value.error();
  to = *std::move(value);
  return {};
}

bool is_true(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text == "true" || text == "1";
}

// As transformers has it, strings between other delimiters give place to their numbers between
// these two, which no text has.
constexpr char kOpen = '\x01';
constexpr char kClose = '\x02';

// The text with the numbers of its strings, which are appended to `captured`.
std::string with_numbers(const std::string& text, std::string_view open, std::string_view close,
                         std::vector<std::string>& captured) {
  std::string replaced;
  std::size_t done = 0;
  while (true) {
    const std::size_t begin = text.find(open, done);
    const std::size_t end =
        begin == std::string::npos ? begin : text.find(close, begin + open.size());
    if (end == std::string::npos) return replaced.append(text, done);
    replaced.append(text, done, begin - done);
    replaced.append(1, kOpen).append(std::to_string(captured.size())).append(1, kClose);
    captured.push_back(text.substr(begin + open.size(), end - begin - open.size()));
    done = end + close.size();
  }
}

// The text with quotes around names, each of which ends with a colon.
std::string with_quotes(const std::string& text, const std::vector<TextRange>& names) {
  std::string quoted;
  std::size_t done = 0;
  for (const TextRange& name : names) {
    quoted.append(text, done, name.begin - done);
    quoted.append("\"").append(text, name.begin, name.end - name.begin - 1).append("\":");
    done = name.end;
  }
  return quoted.append(text, done);
}

// The text with strings, as JSON has them, in place of their numbers.
std::string with_strings(const std::string& text, const std::vector<std::string>& captured) {
  std::string json;
  std::size_t done = 0;
  for (std::size_t open = text.find(kOpen); open != std::string::npos;
       open = text.find(kOpen, done)) {
    const std::size_t close = std::min(text.find(kClose, open), text.size() - 1);
    const auto index =
        chat_template::parse_integer(std::string_view(text).substr(open + 1, close - open - 1), 10);
    const auto number = static_cast<std::size_t>(index.value);
    json.append(text, done, open - done);
    if (number < captured.size()) json.append(json_string(captured[number]));
    done = close + 1;
  }
  return json.append(text, done);
}

constexpr std::array<std::pair<std::string_view, ContentParser::Kind>, 7> kKinds = {
    {{"text", ContentParser::Kind::kText},
     {"int", ContentParser::Kind::kInteger},
     {"float", ContentParser::Kind::kReal},
     {"bool", ContentParser::Kind::kBoolean},
     {"json", ContentParser::Kind::kJson},
     {"xml-inline", ContentParser::Kind::kXmlInline},
     {"kv-lines", ContentParser::Kind::kKvLines}}};

}  // namespace

Result<ContentParser> ContentParser::create(std::string_view name, const Json* arguments) {
  const auto* const found =
      std::ranges::find(kKinds, name, &std::pair<std::string_view, Kind>::first);
  if (found == kKinds.end()) {
    return refused("there is no content parser " + chat_template::quoted(name) +
                   ": text, int, float, bool, json, xml-inline and kv-lines are");
  }
  ContentParser parser(found->second);
  if (arguments != nullptr && !arguments->is_null()) {
    if (const Status read = parser.read_arguments(*arguments); !read) return read.error();
  }
  if (parser.kind_ == Kind::kXmlInline && !parser.tag_pattern_)
    return refused("xml-inline needs a tag_pattern among its content_args");
  return parser;
}

Status ContentParser::read_arguments(const Json& arguments) {
  const Json::Object* const object = arguments.object();
  if (object == nullptr) return refused("arguments must be an object, are " + described(arguments));
  for (const Status& done : {set(strip_, *object, "strip", boolean_of),
                             set(is_of_form_, *object, "is_of_form", boolean_of),
                             set(unquoted_keys_, *object, "unquoted_keys", boolean_of),
                             set(allow_non_json_, *object, "allow_non_json", boolean_of),
                             set(merge_duplicates_, *object, "merge_duplicates", boolean_of),
                             set(line_sep_, *object, "line_sep", string_of),
                             set(kv_sep_, *object, "kv_sep", string_of)}) {
    if (!done) return done;
  }
  if (line_sep_.empty() || kv_sep_.empty()) return refused("a separator is empty");
  if (const Json* const delimiters = object->find("string_delims")) {
    if (const Status read = read_delimiters(*delimiters); !read) return read;
  }
  if (unquoted_keys_) {
    auto regex =
        tokenizer::Regex::compile(R"((?<=[{,])(?P<name>\w+):)", tokenizer::RegexSyntax::kPython);
    if (!regex) return regex.error();
    name_pattern_ = *std::move(regex);
  }
  if (const Json* const value_parser = object->find("value_parser")) {
    if (const Status read = read_value_parser(*value_parser); !read) return read;
  }
  const Json* const pattern = object->find("tag_pattern");
  if (pattern == nullptr) return {};
  const Result<std::string> text = string_of(*pattern, "tag_pattern");
  if (!text) return text.error();
  auto regex = tokenizer::Regex::compile(*text, tokenizer::RegexSyntax::kPython);
  if (!regex) return refused(regex.error().message);
  if (std::ranges::find(regex->group_names(), "key") == regex->group_names().end())
    return refused("the tag_pattern has no group named 'key'");
  tag_pattern_ = *std::move(regex);
  return {};
}

Status ContentParser::read_delimiters(const Json& delimiters) {
  if (delimiters.array() == nullptr)
    return refused("string_delims must be pairs of texts, are " + described(delimiters));
  for (const Json& pair : *delimiters.array()) {
    if (pair.array() == nullptr || pair.array()->size() != 2)
      return refused("string_delims must be pairs of texts, one is " + described(pair));
    std::vector<std::string> texts;
    for (const Json& each : *pair.array()) {
      Result<std::string> text = string_of(each, "a delimiter");
      if (!text) return text.error();
      if (text->empty()) return refused("a delimiter is empty");
      texts.push_back(*std::move(text));
    }
    string_delims_.emplace_back(texts[0], texts[1]);
  }
  return {};
}

Status ContentParser::read_value_parser(const Json& value_parser) {
  if (value_parser.is_null()) return {};
  const Json::Object* const object = value_parser.object();
  if (object == nullptr)
    return refused("value_parser must be an object, is " + described(value_parser));
  std::string name = "text";
  if (const Status done = set(name, *object, "name", string_of); !done) return done;
  Result<ContentParser> inner = create(name, object->find("args"));
  if (!inner) return inner.error();
  value_parser_ = std::make_shared<const ContentParser>(*std::move(inner));
  return {};
}

Result<Value> ContentParser::parse(std::string_view text, Origin origin) const {
  switch (kind_) {
    case Kind::kText:
      return Value::string(stripped(text), origin);
    case Kind::kInteger:
      return parse_integer(text, origin);
    case Kind::kReal:
      return parse_real(text, origin);
    case Kind::kBoolean:
      return Value::boolean(is_true(std::string(stripped(text))), origin);
    case Kind::kJson:
      return parse_json(text, origin);
    case Kind::kXmlInline:
      return parse_tags(text, origin);
    case Kind::kKvLines:
      return parse_lines(text, origin);
  }
  return Value();
}

std::string_view ContentParser::stripped(std::string_view text) const {
  return strip_ ? chat_template::stripped(text) : text;
}

Result<Value> ContentParser::parse_integer(std::string_view text, Origin origin) const {
  const auto parsed = chat_template::parse_integer(stripped(text), 10);
  if (parsed.outcome == chat_template::ParsedInteger::Outcome::kValue)
    return Value::integer(parsed.value, origin);
  return refused(shown(text) + " is no integer of 64 bits");
}

Result<Value> ContentParser::parse_real(std::string_view text, Origin origin) const {
  const std::optional<double> parsed = chat_template::parse_real(stripped(text));
  if (parsed) return Value::real(*parsed, origin);
  return refused(shown(text) + " is no number");
}

Result<Value> ContentParser::parse_json(std::string_view text, Origin origin) const {
  Result<std::string> json = is_dialect() ? without_dialect(text) : std::string(text);
  if (!json) return json.error();
  Result<Value> value = parse_value(*json, origin);
  if (value) return value;
  if (allow_non_json_) return Value::string(stripped(text), origin);
  return refused(shown(text) + ": " + value.error().message);
}

Result<std::string> ContentParser::without_dialect(std::string_view text) const {
  if (!string_delims_.empty() && text.find_first_of("\x01\x02") != std::string_view::npos)
    return refused(shown(text) + " has the characters 1 or 2, which no JSON has");
  std::string working(text);
  std::vector<std::string> captured;
  for (const auto& [open, close] : string_delims_)
    working = with_numbers(working, open, close, captured);
  if (name_pattern_) {
    std::vector<TextRange> names;
    if (const Status found = name_pattern_->find(working, names); !found) return found.error();
    working = with_quotes(working, names);
  }
  return with_strings(working, captured);
}

Result<Value> ContentParser::parse_inner(std::string_view text, Origin origin) const {
  return value_parser_ == nullptr ? Value::string(text, origin)
                                  : value_parser_->parse(text, origin);
}

Result<Value> ContentParser::parse_tags(std::string_view text, Origin origin) const {
  Dict tags;
  tokenizer::Deadline deadline(text.size());
  for (std::size_t start = 0; tag_pattern_ && start <= text.size();) {
    const auto found = tag_pattern_->search(text, start, false, deadline);
    if (!found) return found.error();
    if (!*found) break;
    const tokenizer::RegexMatch& match = **found;
    start = match.range.end;
    if (match.range.begin == match.range.end)
      start += start < text.size() ? character_size(text[start]) : 1;
    const auto group = [&](std::string_view name) -> std::optional<std::string_view> {
      const auto named = std::ranges::find(match.groups, name, &NamedRange::first);
      if (named == match.groups.end()) return std::nullopt;
      return text.substr(named->second.begin, named->second.end - named->second.begin);
    };
    const std::optional<std::string_view> key = group("key");
    if (!key) return refused("the tag_pattern matches without its group 'key'");
    Result<Value> value = parse_inner(group("value").value_or(""), origin);
    if (!value) return value;
    add_tag(tags, Value::string(*key, origin), *std::move(value));
  }
  return Value::dict(std::move(tags));
}

void ContentParser::add_tag(Dict& tags, const Value& key, Value value) const {
  const Value* const before = tags.find(key);
  if (before != nullptr && merge_duplicates_) {
    Elements all = before->kind() == Value::Kind::kList ? before->elements() : Elements{*before};
    all.push_back(std::move(value));
    value = Value::list(std::move(all));
  }
  tags.set(key, std::move(value));
}

Result<Value> ContentParser::parse_lines(std::string_view text, Origin origin) const {
  Dict lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(line_sep_, begin), text.size());
    const std::string_view line = stripped(text.substr(begin, end - begin));
    begin = end + line_sep_.size();
    const std::size_t separator = line.find(kv_sep_);
    if (separator == std::string_view::npos) continue;
    Result<Value> value = parse_inner(stripped(line.substr(separator + kv_sep_.size())), origin);
    if (!value) return value;
    lines.set(Value::string(stripped(line.substr(0, separator)), origin), *std::move(value));
  }
  return Value::dict(std::move(lines));
}

}  // namespace polystate::response
