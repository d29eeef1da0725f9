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

#include "polystate/core/token.h"
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

}  // namespace
}  // namespace polystate
