#include "pipeline/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/wrapped_tokenizer.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/stop_strings.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using testing::StartsWith;

// As Llama 2's: words begin with a mark, which is a space; the first space of a text is left out;
// bytes become a character once they are all there. 9 is in no vocabulary.
constexpr std::string_view kTokenizerOfBytes = R"({
  "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
  "added_tokens": [
    {"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "pre_tokenizer": null, "post_processor": null,
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "dropout": null, "unk_token": "<s>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": true, "merges": [],
            "vocab": {"<s>": 0, "▁the": 1, "▁sea": 2, "s": 3, "▁": 4,
                      "<0xC3>": 5, "<0xA9>": 6, "<0xAA>": 7, "\n": 8}}})";
constexpr TokenId kUnknown = 9;

class TextStreams : public testing::Test {
 protected:
  using Tokens = std::vector<TokenId>;

  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const {
    return tokenizer_->decode(ids).value();
  }

  // The text that streaming gives for `tokens` after `prompt`.
  [[nodiscard]] std::string stream(std::span<const TokenId> prompt,
                                   std::span<const TokenId> tokens) const {
    TextStream stream = TextStream::start(*tokenizer_, prompt).value();
    std::string text;
    for (const TokenId token : tokens) text += stream.push(token).value();
    return text + stream.finish().value();
  }

  std::shared_ptr<const Tokenizer> tokenizer_ =
      Tokenizer::parse(TokenizerFormat::kTokenizerJson, kTokenizerOfBytes).value();
};

TEST_F(TextStreams, KeepTheSpaceBeforeAFirstWord) {
  EXPECT_EQ(stream(Tokens{}, Tokens{1, 2}), "the sea");
  EXPECT_EQ(stream(Tokens{0}, Tokens{1, 2}), "the sea");
  EXPECT_EQ(stream(Tokens{0, 1}, Tokens{2, 3}), " seas");
  EXPECT_EQ(stream(Tokens{0, 1, 2}, Tokens{3}), "s");
}

TEST_F(TextStreams, DoNotRepeatWhatIsHeldBackOfAPrompt) {
  EXPECT_EQ(stream(Tokens{1, 5, 6}, Tokens{2}), " sea");
  EXPECT_EQ(stream(Tokens{1, 5, 6}, Tokens{5, 7, 3}), "\u00EAs");
  EXPECT_EQ(stream(Tokens{1, 5, 6}, Tokens{}), "");
}

TEST_F(TextStreams, CompleteACharacterThatAPromptBegins) {
  EXPECT_EQ(stream(Tokens{1, 5}, Tokens{7, 2}), "\u00EA sea");
}

TEST_F(TextStreams, GiveNoTextForTokensThatTheVocabularyLacks) {
  EXPECT_EQ(stream(Tokens{1, kUnknown}, Tokens{kUnknown, 2, kUnknown}), " sea");
}

TEST_F(TextStreams, JoinToTheTextOfAllTokensAfterThatOfThePrompt) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    Tokens tokens(random() % 12);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 9);
    const std::size_t size = random() % (tokens.size() + 1);
    const auto prompt = std::span(tokens).first(size);
    const std::string before = decode(prompt);
    const std::string text = stream(prompt, std::span(tokens).subspan(size));
    const std::string all = decode(tokens);
    if (all.starts_with(before)) {
      EXPECT_EQ(before + text, all);
    } else {  // the prompt ends within a character
      EXPECT_EQ(all.substr(all.size() - text.size()), text);
      EXPECT_THAT(before, StartsWith(all.substr(0, all.size() - text.size())));
    }
  }
}

// Counts the tokens that it decodes.
class Counting final : public WrappedTokenizer {
 public:
  using WrappedTokenizer::WrappedTokenizer;
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids,
                                           const DecodeOptions& options) const override {
    decoded += ids.size();
    return WrappedTokenizer::decode(ids, options);
  }
  mutable std::size_t decoded = 0;
};

class StopStringsOfBytes : public TextStreams {
 protected:
  // Whether `string` ends the text of these tokens with their last one.
  bool is_met(const std::string& string, const Tokens& tokens) {
    const auto criterion = make_stop_strings(counting_, {string}).value();
    return criterion->is_met({tokens, 0, {}}).value();
  }

  std::shared_ptr<Counting> counting_ = std::make_shared<Counting>(tokenizer_);
};

TEST_F(StopStringsOfBytes, ReadTheEndOfALongTextAlsoWhereACharacterIsIncomplete) {
  Tokens tokens(4000, 1);
  tokens.push_back(5);
  EXPECT_FALSE(is_met("sea", tokens));
  EXPECT_LT(counting_->decoded, 200U);
}

TEST_F(StopStringsOfBytes, AreFoundInARunOfBytesWhereverThatIsCut) {
  Tokens tokens;
  for (int i = 0; i < 40; ++i) {
    tokens.insert(tokens.end(), {5, 6});
    EXPECT_TRUE(is_met("\u00E9", tokens));
    EXPECT_FALSE(is_met("\u00EA", tokens));
  }
  tokens.insert(tokens.end(), {5, 7});
  EXPECT_TRUE(is_met("\u00E9\u00EA", tokens));
  tokens.push_back(5);
  EXPECT_FALSE(is_met("\u00EA", tokens));
}

}  // namespace
}  // namespace polystate
