#include "polystate/grammar/grammar_compiler.h"

#include <xgrammar/compiler.h>
#include <xgrammar/grammar.h>
#include <xgrammar/tokenizer_info.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "grammar/grammar_processor.h"
#include "grammar/json_schema.h"
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

// What xgrammar is given.
Result<std::string> checked_text(const ResponseFormat& format) {
  if (format.kind == Kind::kChoice) return rule_of(format.choices);
  const bool is_schema = format.kind == Kind::kJsonSchema || format.kind == Kind::kJsonObject;
  if (!is_schema && format.kind != Kind::kStructuralTag) return format.text;
  const Result<Json> json =
      parse_json(format.kind == Kind::kJsonObject ? kAnyObject : std::string_view(format.text));
  if (!json) return Error{ErrorCode::kContract, "the schema: " + json.error().message};
  return is_schema ? grammar::checked_schema(*json) : grammar::checked_structural_tag(*json);
}

class Compiler final : public GrammarCompiler {
 public:
  Compiler(const xgrammar::TokenizerInfo& info, grammar::Utf8Tokens tokens)
      : tokens_(std::make_shared<const grammar::Utf8Tokens>(std::move(tokens))),
        compiler_(info, /*max_threads=*/1, /*cache_enabled=*/false) {}

  Result<std::shared_ptr<const LogitsProcessor>> compile(
      const ResponseFormat& format, std::span<const TokenId> ends,
      std::optional<TokenId> forced_first) const override {
    if (ends.empty()) {
      return Error{ErrorCode::kContract,
                   "response_format needs a token that ends a text: eos_token_id has none"};
    }
    const Result<xgrammar::CompiledGrammar> grammar = compiled(format);
    if (!grammar) return grammar.error();
    return std::shared_ptr<const LogitsProcessor>(std::make_shared<grammar::GrammarProcessor>(
        *grammar, tokens_, std::vector<int>(ends.begin(), ends.end()), forced_first));
  }

 private:
  struct Kept {
    ResponseFormat format;
    xgrammar::CompiledGrammar grammar;
  };

  Result<xgrammar::CompiledGrammar> compiled(const ResponseFormat& format) const {
    if (bytes_of(format) > kMaxBytes) {
      return Error{ErrorCode::kContract, "response_format has " + std::to_string(bytes_of(format)) +
                                             " bytes, and may have " + std::to_string(kMaxBytes)};
    }
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(kept_, [&](const Kept& each) {
      return each.format.kind == format.kind && each.format.text == format.text &&
             each.format.choices == format.choices;
    });
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front().grammar;
    }
    const Result<xgrammar::CompiledGrammar> grammar = compiled_anew(format);
    if (!grammar) return Error{grammar.error().code, "response_format: " + grammar.error().message};
    kept_.push_front({format, *grammar});
    if (kept_.size() > kKept) kept_.pop_back();
    return *grammar;
  }

  Result<xgrammar::CompiledGrammar> compiled_anew(const ResponseFormat& format) const {
    if (format.kind == Kind::kChoice && format.choices.empty())
      return Error{ErrorCode::kContract, "choices is empty: name at least one text"};
    const Result<std::string> text = checked_text(format);
    if (!text) return text.error();
    (void)grammar::take_warnings();
    const Result<xgrammar::CompiledGrammar> grammar =
        grammar::called([&] { return call(format.kind, *text); });
    const std::vector<std::string> warnings = grammar::take_warnings();
    if (!grammar) return grammar.error();
    if (!warnings.empty()) return Error{ErrorCode::kUnsupported, warnings.front()};
    return *grammar;
  }

  xgrammar::CompiledGrammar call(Kind kind, const std::string& text) const {
    switch (kind) {
      case Kind::kJsonObject:
      case Kind::kJsonSchema:
        return compiler_.CompileJSONSchema(text, kAnyWhitespace, std::nullopt, std::nullopt,
                                           kStrict);
      case Kind::kRegex:
        return compiler_.CompileRegex(text);
      case Kind::kChoice:
      case Kind::kGbnf:
        return compiler_.CompileGrammar(text);
      case Kind::kLark:
        return compiler_.CompileLark(text);
      case Kind::kStructuralTag:
        return compiler_.CompileStructuralTag(text);
    }
    throw std::runtime_error("unknown kind");
  }

  std::shared_ptr<const grammar::Utf8Tokens> tokens_;
  mutable std::mutex mutex_;  // guards all below
  mutable xgrammar::GrammarCompiler compiler_;
  mutable std::list<Kept> kept_;  // the last used first
};

}  // namespace

Result<std::shared_ptr<const GrammarCompiler>> GrammarCompiler::create(const Tokenizer& tokenizer) {
  std::vector<std::string> texts(tokenizer.vocabulary_size());  // empty: never allowed
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_special(id) || !tokenizer.id_to_token(id)) continue;
    Result<std::string> bytes = tokenizer.token_bytes(id);
    if (!bytes) return bytes.error();
    texts[i] = *std::move(bytes);
  }
  grammar::Utf8Tokens tokens(texts);
  return grammar::called([&]() -> std::shared_ptr<const GrammarCompiler> {
    return std::make_shared<const Compiler>(
        xgrammar::TokenizerInfo(texts, xgrammar::VocabType::RAW, std::nullopt,
                                std::vector<std::int32_t>{}),
        std::move(tokens));
  });
}

}  // namespace polystate
