#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_cursor.h"
#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/regex/pattern.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

using PreTokenizers = std::vector<std::unique_ptr<const PreTokenizer>>;

// How GPT-2 splits text (encoder.py).
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The pattern of a pre-tokenizer that a file only names.
std::optional<Pattern> known_pattern(const JsonCursor& json, std::string_view expression,
                                     RegexSyntax syntax) {
  const Result<Regex> regex = Regex::compile(expression, syntax);
  if (regex) return Pattern(*regex);
  json.fail(regex.error());
  return std::nullopt;
}

// Pieces are what matches.
void add_matches(const JsonCursor& json, std::string_view expression, PreTokenizers& parts) {
  auto pattern = known_pattern(json, expression, RegexSyntax::kFancyRegex);
  if (!pattern) return;
  parts.push_back(pattern_split(std::move(*pattern), DelimiterBehavior::kRemoved, true));
}

DelimiterBehavior read_behavior(const JsonCursor& json) {
  static const std::map<std::string_view, DelimiterBehavior> kBehaviors = {
      {"Removed", DelimiterBehavior::kRemoved},
      {"Isolated", DelimiterBehavior::kIsolated},
      {"MergedWithPrevious", DelimiterBehavior::kMergedWithPrevious},
      {"MergedWithNext", DelimiterBehavior::kMergedWithNext},
      {"Contiguous", DelimiterBehavior::kContiguous},
  };
  const std::string name = json.string();
  const auto found = kBehaviors.find(name);
  if (found != kBehaviors.end()) return found->second;
  json.fail("the behavior '" + name + "' is not known", ErrorCode::kUnsupported);
  return DelimiterBehavior::kRemoved;
}

void add_characters(std::function<bool(char32_t)> kind, DelimiterBehavior behavior,
                    PreTokenizers& parts) {
  parts.push_back(character_split(std::move(kind), behavior));
}

void add_byte_level(const JsonCursor& json, PreTokenizers& parts) {
  if (json["add_prefix_space"].boolean()) parts.push_back(space_prefix());
  if (json.boolean("use_regex", true)) {
    auto pattern = known_pattern(json, kGpt2Pattern, RegexSyntax::kOniguruma);
    if (!pattern) return;
    parts.push_back(pattern_split(std::move(*pattern), DelimiterBehavior::kIsolated, false));
  }
  parts.push_back(byte_alphabet());
}

void add_delimiter(const JsonCursor& json, PreTokenizers& parts) {
  const std::string delimiter = json["delimiter"].character();
  if (!json.ok()) return;
  const char32_t wanted = character_at(delimiter, 0).code_point;
  add_characters([wanted](char32_t c) { return c == wanted; }, DelimiterBehavior::kRemoved, parts);
}

void add_digits(const JsonCursor& json, PreTokenizers& parts) {
  const bool individual = json["individual_digits"].boolean();
  add_characters(is_numeric,
                 individual ? DelimiterBehavior::kIsolated : DelimiterBehavior::kContiguous, parts);
}

void add_fixed_length(const JsonCursor& json, PreTokenizers& parts) {
  const std::uint64_t length = json.size("length", 5);
  if (length == 0) return json.fail("the length is 0");
  parts.push_back(fixed_length(length));
}

void add_metaspace(const JsonCursor& json, PreTokenizers& parts) {
  const std::string marker = json["replacement"].character();
  const PrependScheme scheme = read_prepend_scheme(json);
  parts.push_back(metaspace(marker, scheme, json.boolean("split", true)));
}

void add_punctuation(const JsonCursor& json, PreTokenizers& parts) {
  const auto behavior = json.optional("behavior");
  add_characters([](char32_t c) { return c < 0x80 ? is_ascii_punctuation(c) : is_punctuation(c); },
                 behavior ? read_behavior(*behavior) : DelimiterBehavior::kIsolated, parts);
}

void add_pattern_split(const JsonCursor& json, PreTokenizers& parts) {
  auto pattern = read_pattern(json["pattern"]);
  const DelimiterBehavior behavior = read_behavior(json["behavior"]);
  const bool invert = json["invert"].boolean();
  if (pattern) parts.push_back(pattern_split(std::move(*pattern), behavior, invert));
}

void add_whitespace(const JsonCursor& json, PreTokenizers& parts) {
  add_matches(json, R"(\w+|[^\w\s]+)", parts);
}

void add_whitespace_split(const JsonCursor&, PreTokenizers& parts) {
  add_characters(is_white_space, DelimiterBehavior::kRemoved, parts);
}

void add_unicode_scripts(const JsonCursor&, PreTokenizers& parts) {
  parts.push_back(unicode_scripts());
}

void add_bert(const JsonCursor&, PreTokenizers& parts) { parts.push_back(bert_pre_tokenizer()); }

void add_parts(const JsonCursor& json, PreTokenizers& parts);

void add_sequence(const JsonCursor& json, PreTokenizers& parts) {
  for (const JsonCursor& part : json["pretokenizers"].elements()) add_parts(part, parts);
}

void add_parts(const JsonCursor& json, PreTokenizers& parts) {
  using Adder = void (*)(const JsonCursor&, PreTokenizers&);
  static const std::map<std::string_view, Adder> kAdders = {
      {"BertPreTokenizer", add_bert},
      {"ByteLevel", add_byte_level},
      {"CharDelimiterSplit", add_delimiter},
      {"Delimiter", add_delimiter},
      {"Digits", add_digits},
      {"FixedLength", add_fixed_length},
      {"Metaspace", add_metaspace},
      {"Punctuation", add_punctuation},
      {"Sequence", add_sequence},
      {"Split", add_pattern_split},
      {"UnicodeScripts", add_unicode_scripts},
      {"Whitespace", add_whitespace},
      {"WhitespaceSplit", add_whitespace_split},
  };
  const std::string type = json["type"].string();
  const auto found = kAdders.find(type);
  if (found == kAdders.end())
    return json.fail("the pre-tokenizer '" + type + "' is not known", ErrorCode::kUnsupported);
  const Adder add = found->second;
  add(json, parts);
}

}  // namespace

PrependScheme read_prepend_scheme(const JsonCursor& json) {
  auto scheme = PrependScheme::kAlways;
  if (const auto named = json.optional("prepend_scheme")) {
    const std::string name = named->string();
    if (name == "first") {
      scheme = PrependScheme::kFirst;
    } else if (name == "never") {
      scheme = PrependScheme::kNever;
    } else if (name != "always") {
      named->fail("the scheme '" + name + "' is not known", ErrorCode::kUnsupported);
    }
  }
  if (json.boolean("add_prefix_space", true)) return scheme;
  if (json.optional("prepend_scheme") && scheme != PrependScheme::kNever)
    json.fail("'add_prefix_space' does not agree with 'prepend_scheme'");
  return PrependScheme::kNever;
}

PreTokenizerRead read_pre_tokenizer(const JsonCursor& json, bool bytes_suit) {
  PreTokenizers parts;
  add_parts(json, parts);
  PreTokenizerRead read;
  const auto writes = [](const auto& part) { return part->writes_byte_alphabet(); };
  read.gives_bytes = bytes_suit && !parts.empty() && writes(parts.back()) &&
                     std::ranges::count_if(parts, writes) == 1;
  if (read.gives_bytes) parts.pop_back();
  read.pre_tokenizer = std::make_unique<PreTokenizerSequence>(std::move(parts));
  return read;
}

}  // namespace polystate::tokenizer
