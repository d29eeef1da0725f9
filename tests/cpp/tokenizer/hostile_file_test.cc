// Files that are well-formed and ask for what no one needs: an error, or a tokenizer that neither
// crashes nor takes all memory.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

constexpr std::string_view kModel =
    R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}})";

Result<std::shared_ptr<const Tokenizer>> parse(const std::string& fields,
                                               std::string_view model = kModel) {
  return Tokenizer::parse(
      TokenizerFormat::kTokenizerJson,
      "{" + fields + (fields.empty() ? "" : ", ") + "\"model\": " + std::string(model) + "}");
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

std::string sequence(std::string_view key, std::string_view part, std::size_t count) {
  return R"({"type": "Sequence", ")" + std::string(key) + "\": [" +
         repeated(std::string(part) + ", ", count - 1) + std::string(part) + "]}";
}

TEST(HostileFile, ATemplateThatLeavesNothingGivesAnEmptyEncoding) {
  const auto tokenizer = parse(
      R"("post_processor": {"type": "TemplateProcessing", "single": [], "pair": [],
         "special_tokens": {}})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_TRUE((*tokenizer)->encode("a")->ids.empty());
  EXPECT_TRUE((*tokenizer)->encode({"a", "b"})->ids.empty());
}

TEST(HostileFile, ATemplateAfterATemplateIsRefusedHoweverItIsNested) {
  constexpr std::string_view kTemplate =
      R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})";
  const std::string inner = sequence("processors", kTemplate, 1);
  const auto tokenizer = parse(R"("post_processor": {"type": "Sequence", "processors": [)" + inner +
                               ", " + inner + "]}");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kUnsupported);
}

TEST(HostileFile, ATokenInWhiteSpaceThatAnotherTookIsNotThere) {
  // "</s>" takes the spaces after it, where "  " is a token that takes those before it.
  const auto tokenizer = parse(
      R"("added_tokens": [
        {"content": "</s>", "single_word": false, "lstrip": false, "rstrip": true,
         "normalized": false, "special": true},
        {"content": "  ", "single_word": false, "lstrip": true, "rstrip": false,
         "normalized": false, "special": false}],
        "normalizer": {"type": "Lowercase"})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const Encoding encoding = (*tokenizer)->encode("</s>   a", {.offsets = true}).value();
  ASSERT_EQ(encoding.ids.size(), 2);
  EXPECT_EQ(encoding.offsets[0], (TextRange{0, 7}));
  EXPECT_EQ(encoding.offsets[1], (TextRange{7, 8}));
}

TEST(HostileFile, TheNormalizedPartsOfATextHaveALimitTogether) {
  const auto tokenizer = parse(
      R"("added_tokens": [{"content": "|", "single_word": false, "lstrip": false, "rstrip": false,
         "normalized": false, "special": true}],
         "normalizer": {"type": "Prepend", "prepend": ")" +
      std::string(1U << 20U, 'x') + "\"}");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_TRUE((*tokenizer)->encode("a|a"));
  EXPECT_EQ((*tokenizer)->encode(repeated("a|", 600)).error().code, ErrorCode::kContract);
}

TEST(HostileFile, AVocabularyOfAMixedFormIsAnError) {
  for (const std::string_view vocabulary :
       {R"([["a", 0], 5])", R"({"a": [0]})", R"([["a"]])", R"([["a", 0, 1]])", R"([[0, "a"]])"}) {
    const auto tokenizer = parse(
        "", R"({"type": "Unigram", "unk_id": null, "vocab": )" + std::string(vocabulary) + "}");
    ASSERT_FALSE(tokenizer) << vocabulary;
    EXPECT_EQ(tokenizer.error().code, ErrorCode::kArtifact);
  }
}

TEST(HostileFile, NumbersThatWouldOverflowAreErrors) {
  for (const std::string_view decoder :
       {R"({"type": "Strip", "content": "a", "start": 0, "stop": 9223372036854775807})",
        R"({"type": "Strip", "content": "a", "start": 4611686018427387904, "stop": 0})"}) {
    EXPECT_EQ(parse("\"decoder\": " + std::string(decoder)).error().code, ErrorCode::kUnsupported);
  }
  EXPECT_EQ(parse("", R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 4294967295}})")
                .error()
                .code,
            ErrorCode::kArtifact);
}

TEST(HostileFile, NestingHasALimit) {
  std::string normalizer = R"({"type": "Lowercase"})";
  for (int i = 0; i < 1000; ++i) normalizer = sequence("normalizers", normalizer, 1);
  const auto tokenizer = parse("\"normalizer\": " + normalizer);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kArtifact);
  EXPECT_FALSE(Tokenizer::parse(TokenizerFormat::kTokenizerJson, std::string(1000000, '[')));
}

TEST(HostileFile, ATikTokenFileMayHaveNoVeryLongToken) {
  // 3 MB of zero bytes in base64.
  const auto tokenizer =
      Tokenizer::parse(TokenizerFormat::kTikToken, std::string(4000000, 'A') + " 0\n",
                       {.tik_token = TikTokenOptions{"a", {}}});
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kUnsupported);
}

TEST(HostileFile, ATokenOfManyMalformedBytesIsDecodedInTimeThatGrowsWithIt) {
  // Half a million bytes of 0xC4 0xFF, written in the byte alphabet.
  const std::size_t count = 250000;
  const std::string token = repeated("\xC3\x84\xC3\xBF", count);
  const auto tokenizer =
      parse(R"("decoder": {"type": "ByteLevel"})",
            R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, ")" + token + "\": 1}}");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->decode(std::vector<TokenId>{1}).value(),
            repeated("\xEF\xBF\xBD\xEF\xBF\xBD", count));
}

}  // namespace
}  // namespace polystate
