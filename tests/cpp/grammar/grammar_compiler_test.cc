#include "polystate/grammar/grammar_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = ResponseFormat::Kind;

// Words begin with a marker that is a space in the middle of a text.
constexpr std::string_view kTokenizer = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "normalizer": null, "pre_tokenizer": null, "post_processor": null,
  "decoder": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true},
  "model": {"type": "BPE", "merges": [],
            "vocab": {"</s>": 0, "a": 1, "_a": 2, "b": 3, "_b": 4, "_": 5}}})";
constexpr TokenId kEnd = 0;
constexpr std::size_t kVocabulary = 7;  // of the model, which has a token that no text is made of

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  return text.replace(text.find(what), what.size(), by);
}

class Grammar : public testing::Test {
 protected:
  Result<std::shared_ptr<const LogitsProcessor>> compile(const ResponseFormat& format,
                                                         const ConstrainedText& text = {{kEnd}}) {
    return compiler_->compile(format, text);
  }

  std::unique_ptr<RowState> start(const ResponseFormat& format,
                                  const ConstrainedText& text = {{kEnd}}) {
    processor_ = compile(format, text).value();
    return processor_->start({}).value();
  }

  // The tokens that may follow.
  std::vector<TokenId> allowed(RowState& state) {
    std::vector<float> scores(kVocabulary, 1.0F);
    const Status done = processor_->process({{}, 0, {}, &state}, scores);
    EXPECT_TRUE(done) << done.error().message;
    std::vector<TokenId> found;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!std::isinf(scores[i])) found.push_back(static_cast<TokenId>(i));
    }
    return found;
  }

  std::shared_ptr<const Tokenizer> tokenizer_ =
      Tokenizer::parse(TokenizerFormat::kTokenizerJson, kTokenizer).value();
  std::shared_ptr<const GrammarCompiler> compiler_ = GrammarCompiler::create(*tokenizer_).value();
  std::shared_ptr<const LogitsProcessor> processor_;
};

TEST_F(Grammar, AllowsWhatMayFollowAndTheEndWhereTheTextMayEnd) {
  const auto state = start({Kind::kRegex, "a b?"});
  EXPECT_THAT(allowed(*state), ElementsAre(1));
  ASSERT_TRUE(state->advance(1));
  EXPECT_THAT(allowed(*state), ElementsAre(4, 5));
  ASSERT_TRUE(state->advance(5));
  EXPECT_THAT(allowed(*state), ElementsAre(kEnd, 3));
  ASSERT_TRUE(state->advance(3));
  EXPECT_THAT(allowed(*state), ElementsAre(kEnd));
}

TEST_F(Grammar, AWholeTextBeginsWithoutTheSpaceOfItsFirstWord) {
  const auto state = start({Kind::kRegex, "a b"}, {.ends = {kEnd}, .is_whole = true});
  EXPECT_THAT(allowed(*state), ElementsAre(1, 2));
  ASSERT_TRUE(state->advance(2));
  EXPECT_THAT(allowed(*state), ElementsAre(4, 5));
  ASSERT_TRUE(state->advance(4));
  EXPECT_THAT(allowed(*state), ElementsAre(kEnd));
  ASSERT_TRUE(state->rewind(2));
  EXPECT_THAT(allowed(*state), ElementsAre(1, 2));
}

TEST_F(Grammar, TheFirstTokenOfASequenceMayBeForced) {
  const auto state = start({Kind::kRegex, "ab"}, {.ends = {kEnd}, .forced_first = 6});
  EXPECT_EQ(allowed(*state).size(), kVocabulary) << "the configuration says which";
  ASSERT_TRUE(state->advance(6));
  EXPECT_THAT(allowed(*state), ElementsAre(1));
  ASSERT_TRUE(state->advance(1));
  ASSERT_TRUE(state->rewind(2));
  EXPECT_EQ(allowed(*state).size(), kVocabulary);
  ASSERT_TRUE(state->advance(6));
  EXPECT_THAT(allowed(*state), ElementsAre(1));
}

TEST_F(Grammar, ARowThatGoesOnWithAForbiddenTokenHasNoChance) {
  const auto state = start({Kind::kRegex, "ab"});
  ASSERT_TRUE(state->advance(1));
  ASSERT_TRUE(state->advance(1)) << "as a beam search does";
  EXPECT_THAT(allowed(*state), IsEmpty());
  ASSERT_TRUE(state->advance(3));
  EXPECT_THAT(allowed(*state), IsEmpty());
  const auto fork = state->fork().value();
  ASSERT_TRUE(state->rewind(2));
  EXPECT_THAT(allowed(*state), ElementsAre(3));
  ASSERT_TRUE(fork->rewind(3));
  EXPECT_THAT(allowed(*fork), ElementsAre(1));
}

TEST_F(Grammar, ForksGoOnByThemselves) {
  const auto state = start({Kind::kRegex, "(a|b){3}"});
  ASSERT_TRUE(state->advance(1));
  const auto fork = state->fork().value();
  ASSERT_TRUE(fork->advance(3));
  ASSERT_TRUE(fork->advance(3));
  EXPECT_THAT(allowed(*fork), ElementsAre(kEnd));
  EXPECT_THAT(allowed(*state), ElementsAre(1, 3));
}

TEST_F(Grammar, MarkersStandForTheirText) {
  const std::string json = replaced(std::string(kTokenizer), R"("added_tokens": [)",
                                    R"("added_tokens": [{"id": 6, "content": "<call>",
    "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},)");
  tokenizer_ = Tokenizer::parse(TokenizerFormat::kTokenizerJson, json).value();
  const ResponseFormat format = {Kind::kStructuralTag, R"({"type": "structural_tag", "format":
      {"type": "sequence", "elements": [{"type": "const_string", "value": "<call>"},
                                        {"type": "regex", "pattern": "b|a"}]}})"};
  compiler_ = GrammarCompiler::create(*tokenizer_, {.markers = {6}}).value();
  const auto state = start(format);
  EXPECT_THAT(allowed(*state), ElementsAre(6));
  ASSERT_TRUE(state->advance(6));
  EXPECT_THAT(allowed(*state), ElementsAre(1, 3));
  ASSERT_TRUE(state->advance(3));
  EXPECT_THAT(allowed(*state), ElementsAre(kEnd));
}

TEST_F(Grammar, SaysThatNothingIsLeftToChoose) {
  const auto state = start({Kind::kChoice, {}, {"a"}});
  std::vector<float> scores(kVocabulary, 1.0F);
  scores[1] = -INFINITY;
  const Status done = processor_->process({{}, 0, {}, state.get()}, scores);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("min_new_tokens"));
}

TEST_F(Grammar, RefusesFormatsWithTheReason) {
  const auto error = [&](const ResponseFormat& format, const ConstrainedText& text = {{kEnd}}) {
    const auto processor = compile(format, text);
    EXPECT_FALSE(processor);
    return processor.error();
  };
  EXPECT_EQ(error({Kind::kRegex, "(a"}).code, ErrorCode::kContract);
  EXPECT_EQ(error({Kind::kGbnf, "root ::= other"}).code, ErrorCode::kContract);
  EXPECT_EQ(error({Kind::kJsonSchema, "{"}).code, ErrorCode::kContract);
  EXPECT_EQ(error({Kind::kJsonSchema, R"({"not": {}})"}).code, ErrorCode::kUnsupported);
  EXPECT_THAT(error({Kind::kRegex, "a"}, {}).message, HasSubstr("eos_token_id"));
  EXPECT_THAT(error({Kind::kRegex, std::string(2097152, 'a')}).message, HasSubstr("1048576"));
}

}  // namespace
}  // namespace polystate
