#include "polystate/grammar/grammar_compiler.h"

#include <xgrammar/compiler.h>
#include <xgrammar/tokenizer_info.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "grammar/grammar_processor.h"
#include "grammar/json_schema.h"
#include "grammar/text_pattern.h"
#include "grammar/utf8_tokens.h"
#include "grammar/xgrammar_calls.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using Kind = ResponseFormat::Kind;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;  // of a format's texts
constexpr std::size_t kKept = 64;                         // compiled grammars

// Schemas are compiled to JSON in one line, with the properties in the schema's order.
constexpr bool kAnyWhitespace = false;
constexpr bool kStrict = true;
constexpr std::string_view kAnyObject = R"({"type": "object"})";

std::size_t bytes_of(const ResponseFormat& format) {
  std::size_t bytes = format.text.size();
  for (const std::string& each : format.choices) bytes += each.size();
  return bytes;
}

// A text in xgrammar's notation.
std::string literal(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string literal = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte < 0x20 || each == '"' || each == '\\' || byte == 0x7F) {
      literal += {'\\', 'u', '0', '0', kDigits[byte >> 4U], kDigits[byte & 15U]};
    } else {
      literal += each;
    }
  }
  return literal + "\"";
}

std::string rule_of(std::span<const std::string> choices) {
  std::string rule = "root ::= ";
  for (const std::string& choice : choices) {
    if (&choice != choices.data()) rule += " | ";
    rule += literal(choice);
  }
  return rule;
}

// One automaton, of which xgrammar knows beforehand what may follow: `CompileRegex` would divide
// the expression into rules, and try the tokens that go beyond a rule one by one.
Result<std::string> rule_of_regex(std::string_view pattern) {
  if (const Status status = grammar::check_expression(pattern); !status) return status.error();
  return "root ::= Regex(" + literal(pattern) + ", flags=\"\")";
}

Result<Json> json_of(std::string_view text) {
  Result<Json> json = parse_json(text);
  if (!json) return Error{ErrorCode::kContract, "the schema: " + json.error().message};
  return json;
}

// What xgrammar is given.
Result<std::string> checked_text(const ResponseFormat& format) {
  switch (format.kind) {
    case Kind::kChoice:
      if (!format.choices.empty()) return rule_of(format.choices);
      return Error{ErrorCode::kContract, "choices is empty: name at least one text"};
    case Kind::kRegex:
      return rule_of_regex(format.text);
    case Kind::kGbnf:
    case Kind::kLark:
      return format.text;
    case Kind::kJsonObject:
    case Kind::kJsonSchema: {
      const Result<Json> schema =
          json_of(format.kind == Kind::kJsonObject ? kAnyObject : std::string_view(format.text));
      return schema ? grammar::checked_schema(*schema) : schema.error();
    }
    case Kind::kStructuralTag: {
      const Result<Json> tag = json_of(format.text);
      return tag ? grammar::checked_structural_tag(*tag) : tag.error();
    }
  }
  return Error{ErrorCode::kContract, "unknown kind"};
}

// The bytes of the tokens of a vocabulary; none of those that are never allowed.
Result<std::vector<std::string>> token_texts(const Tokenizer& tokenizer) {
  std::vector<std::string> texts(tokenizer.vocabulary_size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_special(id) || !tokenizer.id_to_token(id)) continue;
    Result<std::string> bytes = tokenizer.token_bytes(id);
    if (!bytes) return bytes.error();
    texts[i] = *std::move(bytes);
  }
  return texts;
}

// Has tokens that begin with a space lose it where a text that begins with them does. False where
// none does.
Result<bool> remove_first_spaces(const Tokenizer& tokenizer, std::vector<std::string>& texts) {
  bool is_any_changed = false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].starts_with(' ')) continue;
    const TokenId id[] = {static_cast<TokenId>(i)};
    const Result<std::string> alone = tokenizer.decode(id);
    if (!alone) return alone.error();
    if (*alone != std::string_view(texts[i]).substr(1)) continue;
    texts[i].erase(0, 1);
    is_any_changed = true;
  }
  return is_any_changed;
}

// Compiles grammars over one vocabulary, and keeps the last ones. Many threads may use it at once:
// none waits for another's format, and those of one format for its first.
class VocabularyCompiler {
 public:
  using Compiled = Result<xgrammar::CompiledGrammar>;

  explicit VocabularyCompiler(const std::vector<std::string>& texts)
      : compiler_(xgrammar::TokenizerInfo(texts, xgrammar::VocabType::RAW, std::nullopt,
                                          std::vector<std::int32_t>{}),
                  /*max_threads=*/1, /*cache_enabled=*/false) {}

  Compiled compile(const ResponseFormat& format) {
    std::promise<Compiled> promise;
    const std::shared_future<Compiled> known = kept(format, promise);
    if (known.valid()) return known.get();
    Compiled grammar = grammar::called([&] { return compiled(format); });
    if (!grammar) {
      grammar = Error{grammar.error().code, "response_format: " + grammar.error().message};
      forget(format);
    }
    promise.set_value(grammar);
    return grammar;
  }

 private:
  struct Kept {
    ResponseFormat format;
    std::shared_future<Compiled> grammar;
  };

  static bool are_equal(const ResponseFormat& one, const ResponseFormat& other) {
    return one.kind == other.kind && one.text == other.text && one.choices == other.choices;
  }

  // What another call has made or makes of the format. Invalid where there is none: others then get
  // what the promise is given.
  std::shared_future<Compiled> kept(const ResponseFormat& format, std::promise<Compiled>& promise) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& each) { return are_equal(each.format, format); });
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front().grammar;
    }
    kept_.push_front({format, promise.get_future().share()});
    if (kept_.size() > kKept) kept_.pop_back();
    return {};
  }

  void forget(const ResponseFormat& format) {
    const std::scoped_lock lock(mutex_);
    kept_.remove_if([&](const Kept& each) { return are_equal(each.format, format); });
  }

  // It may throw what xgrammar does.
  [[nodiscard]] Compiled compiled(const ResponseFormat& format) const {
    const Result<std::string> text = checked_text(format);
    if (!text) return text.error();
    (void)grammar::take_warnings();
    xgrammar::CompiledGrammar grammar = call(format.kind, *text);
    const std::vector<std::string> warnings = grammar::take_warnings();
    if (!warnings.empty()) return Error{ErrorCode::kUnsupported, warnings.front()};
    return grammar;
  }

  [[nodiscard]] xgrammar::CompiledGrammar call(Kind kind, const std::string& text) const {
    xgrammar::GrammarCompiler compiler = compiler_;  // a handle, whose functions are not const
    switch (kind) {
      case Kind::kJsonObject:
      case Kind::kJsonSchema:
        return compiler.CompileJSONSchema(text, kAnyWhitespace, std::nullopt, std::nullopt,
                                          kStrict);
      case Kind::kRegex:
      case Kind::kChoice:
      case Kind::kGbnf:
        return compiler.CompileGrammar(text);
      case Kind::kLark:
        return compiler.CompileLark(text);
      case Kind::kStructuralTag:
        return compiler.CompileStructuralTag(text);
    }
    throw std::runtime_error("unknown kind");
  }

  // It keeps nothing, so that threads do not disturb one another.
  xgrammar::GrammarCompiler compiler_;
  std::mutex mutex_;      // guards what follows
  std::list<Kept> kept_;  // the last used first
};

class Compiler final : public GrammarCompiler {
 public:
  // `first_texts`: of the first token of a text; empty where it has those of the others.
  Compiler(std::vector<std::string> texts, std::vector<std::string> first_texts)
      : tokens_(std::make_shared<const grammar::Utf8Tokens>(texts)), middle_(texts) {
    if (first_texts.empty()) return;
    first_.emplace(first_texts);
    first_texts_ = std::make_shared<const std::vector<std::string>>(std::move(first_texts));
  }

  Result<std::shared_ptr<const LogitsProcessor>> compile(
      const ResponseFormat& format, const ConstrainedText& text) const override {
    if (text.ends.empty()) {
      return Error{ErrorCode::kContract,
                   "response_format needs a token that ends a text: eos_token_id has none"};
    }
    if (bytes_of(format) > kMaxBytes) {
      return Error{ErrorCode::kContract, "response_format has " + std::to_string(bytes_of(format)) +
                                             " bytes, and may have " + std::to_string(kMaxBytes)};
    }
    Result<xgrammar::CompiledGrammar> grammar = middle_.compile(format);
    if (!grammar) return grammar.error();
    grammar::Constraint constraint = {*std::move(grammar), tokens_, nullptr,
                                      std::vector<int>(text.ends.begin(), text.ends.end()),
                                      text.forced_first};
    if (text.is_whole && first_) {
      Result<xgrammar::CompiledGrammar> first = first_->compile(format);
      if (!first) return first.error();
      constraint.first_tokens = std::make_shared<const grammar::FirstTokens>(
          grammar::FirstTokens{*std::move(first), first_texts_});
    }
    return std::shared_ptr<const LogitsProcessor>(
        std::make_shared<grammar::GrammarProcessor>(std::move(constraint)));
  }

 private:
  std::shared_ptr<const grammar::Utf8Tokens> tokens_;
  std::shared_ptr<const std::vector<std::string>> first_texts_;
  mutable VocabularyCompiler middle_;
  mutable std::optional<VocabularyCompiler> first_;
};

}  // namespace

Result<std::shared_ptr<const GrammarCompiler>> GrammarCompiler::create(const Tokenizer& tokenizer,
                                                                       const TextMarkers& special) {
  Result<std::vector<std::string>> texts = token_texts(tokenizer);
  if (!texts) return texts.error();
  for (const TokenId id : special.markers) (*texts)[id] = tokenizer.id_to_token(id).value_or("");
  for (const TokenId id : special.unread) (*texts)[id] = kUnread;
  std::vector<std::string> first_texts = *texts;
  const Result<bool> differ = remove_first_spaces(tokenizer, first_texts);
  if (!differ) return differ.error();
  if (!*differ) first_texts.clear();
  return grammar::called([&]() -> Result<std::shared_ptr<const GrammarCompiler>> {
    return std::shared_ptr<const GrammarCompiler>(
        std::make_shared<const Compiler>(*std::move(texts), std::move(first_texts)));
  });
}

}  // namespace polystate
