// Damaged formats: each change of some bytes gives a typed error, or a processor that lets a text
// go on until it ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/byte_tokenizer.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using Kind = ResponseFormat::Kind;

struct Sample {
  std::string_view name;
  ResponseFormat format;
};

std::ostream& operator<<(std::ostream& out, const Sample& sample) { return out << sample.name; }

class FormatDamage : public testing::TestWithParam<Sample> {
 protected:
  // Follows allowed tokens that are drawn, up to some length.
  testing::AssertionResult lets_texts_go_on(const LogitsProcessor& processor) {
    const auto state = processor.start({}).value();
    std::vector<float> scores(kByteVocabulary);
    for (int length = 0; length < 12; ++length) {
      std::ranges::fill(scores, 0.0F);
      const Status done = processor.process({{}, 0, {}, state.get()}, scores);
      if (!done) return testing::AssertionFailure() << done.error().message;
      std::vector<TokenId> allowed;
      for (std::size_t i = 0; i < scores.size(); ++i) {
        if (!std::isinf(scores[i])) allowed.push_back(static_cast<TokenId>(i));
      }
      if (allowed.empty()) return testing::AssertionFailure() << "no token after " << length;
      const TokenId token = allowed[draw_() % allowed.size()];
      if (token == kEndOfText) break;
      if (const Status status = state->advance(token); !status)
        return testing::AssertionFailure() << status.error().message;
    }
    return testing::AssertionSuccess();
  }

  testing::AssertionResult keeps_its_promises(const ResponseFormat& format) {
    const auto processor = compiler_->compile(format, {.ends = {kEndOfText}, .is_whole = true});
    if (processor) return lets_texts_go_on(**processor);
    const ErrorCode code = processor.error().code;
    if (code == ErrorCode::kContract || code == ErrorCode::kUnsupported)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << processor.error().message;
  }

  std::mt19937 draw_{1};  // NOLINT(bugprone-random-generator-seed): the same in every run
  std::shared_ptr<const Tokenizer> tokenizer_ =
      Tokenizer::parse(TokenizerFormat::kTokenizerJson, byte_tokenizer_json()).value();
  std::shared_ptr<const GrammarCompiler> compiler_ = GrammarCompiler::create(*tokenizer_).value();
};

TEST_P(FormatDamage, AWholeFormatLetsTextsGoOn) {
  const auto processor =
      compiler_->compile(GetParam().format, {.ends = {kEndOfText}, .is_whole = true});
  ASSERT_TRUE(processor) << processor.error().message;
  for (int text = 0; text < 20; ++text) EXPECT_TRUE(lets_texts_go_on(**processor));
}

TEST_P(FormatDamage, EveryTruncationIsAnErrorOrAFormat) {
  const ResponseFormat& whole = GetParam().format;
  for (std::size_t size = 0; size < whole.text.size(); ++size)
    ASSERT_TRUE(keeps_its_promises({whole.kind, whole.text.substr(0, size), {}})) << size;
}

TEST_P(FormatDamage, EveryChangedByteIsAnErrorOrAFormat) {
  // Bytes that mean something in one of the languages come more often than by chance.
  constexpr std::string_view kMarks = "()[]{}|*+?\\^$.,:\"'-/0129 \n";
  const ResponseFormat& whole = GetParam().format;
  for (int i = 0; i < 200; ++i) {
    std::string text = whole.text;
    const std::size_t position = draw_() % text.size();
    text[position] =
        draw_() % 2 == 0 ? kMarks[draw_() % kMarks.size()] : static_cast<char>(draw_() % 256);
    ASSERT_TRUE(keeps_its_promises({whole.kind, text, {}})) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , FormatDamage,
    testing::Values(
        Sample{"Regex", {Kind::kRegex, R"((the|a{2,3}|[^\s"]+)( \d{1,4}(?:\.[0-9]*)?)?é*)"}},
        Sample{"JsonSchema",
               {Kind::kJsonSchema,
                R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3,
                    "maximum": 47}, "b": {"$ref": "#/$defs/b"}, "c": {"enum": [1, "x", null]}},
                    "required": ["a"], "additionalProperties": false,
                    "$defs": {"b": {"type": "array", "maxItems": 2, "items":
                    {"anyOf": [{"type": "string", "pattern": "^a+$"}, {"const": 1.5}]}}}})"}},
        Sample{"Gbnf",
               {Kind::kGbnf,
                "root ::= item (\",\" item){0,3} # list\n"
                "item ::= [a-z]+ | \"(\" root? \")\" | [^\\x00-\\x20]\n"}},
        Sample{"Lark",
               {Kind::kLark,
                "start: item (\",\" item)*\nitem: WORD | \"(\" start \")\"\n"
                "WORD: /[a-z]+/\n"}},
        Sample{"StructuralTag",
               {Kind::kStructuralTag,
                R"({"type": "structural_tag", "format": {"type": "triggered_tags",
                    "triggers": ["<t"], "tags": [{"begin": "<t=a>", "content":
                    {"type": "json_schema", "json_schema": {"type": "object"}},
                    "end": "</t>"}]}})"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace polystate
