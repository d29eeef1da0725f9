// Hostile text: time grows with the length of a text that is one thing over and over. What it takes
// is measured by the benchmarks.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/sample_files.h"

namespace polystate {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kSize = std::size_t{32} << 10U;
#else
constexpr std::size_t kSize = std::size_t{256} << 10U;
#endif

std::string repeated_to(std::string_view part, std::size_t size) {
  std::string text;
  while (text.size() < size) text += part;
  return text;
}

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 2; ++run) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(tokenizer.encode(text));
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

class HostileText : public testing::TestWithParam<SampleFile> {};

TEST_P(HostileText, TakesTimeThatGrowsWithItsLength) {
  const SampleFile& file = GetParam();
  const auto tokenizer = Tokenizer::parse(file.format, file.content, file.options);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (const std::string_view part :
       {"l", " ", "\xC3\xA9", "\xFF", "\xE2\x96\x81", "\xCC\x81", "</s>", "\r\n", "a ", "1"}) {
    const double one = seconds_to_encode(**tokenizer, repeated_to(part, kSize));
    const double eight = seconds_to_encode(**tokenizer, repeated_to(part, 8 * kSize));
    // Room for a busy machine: what is quadratic takes 64 times as long.
    EXPECT_LT(one, 5.0) << "'" << part << "'";
    EXPECT_LT(eight, 24 * one + 0.1) << "'" << part << "'";
  }
}

// A tokenizer.json with some stages, and a token "|" beside its own.
std::shared_ptr<const Tokenizer> tokenizer_with(const std::string& stages) {
  const std::string content =
      R"({"version":"1.0","added_tokens":[
{"id":0,"content":" ","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":false},
{"id":1,"content":"|","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],)" +
      stages +
      R"("model":{"type":"WordLevel","unk_token":"<unk>","vocab":{" ":0,"|":1,"<unk>":2}}})";
  return Tokenizer::parse(TokenizerFormat::kTokenizerJson, content, {}).value();
}

TEST(HostileExpression, TakesNoLongerForATextInManyPartsThanForOne) {
  const std::string word(16, 'x');
  const std::string words = repeated_to(word + "|", 30'000 * (word.size() + 1));
  const std::string two_words = word + "|" + word;
  for (const std::string_view stage :
       {R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?:x+x+)+\\d"},"behavior":"Isolated",
"invert":false},)",
        R"("normalizer":{"type":"Replace","pattern":{"Regex":"(?:x+x+)+\\d"},"content":"y"},)"}) {
    const auto tokenizer = tokenizer_with(std::string(stage));
    EXPECT_TRUE(tokenizer->encode(two_words));
    const auto refused = tokenizer->encode(words);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kContract);
    EXPECT_NE(refused.error().message.find("it takes too long"), std::string::npos);
  }
}

TEST(HostileToken, WhiteSpaceThatTokensTakeIsReadOnce) {
  constexpr std::string_view kMetaspace =
      R"("pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},)";
  for (const std::string_view normalizer : {"", R"("normalizer":{"type":"NFC"},)"}) {
    const auto tokenizer = tokenizer_with(std::string(normalizer) + std::string(kMetaspace));
    EncodeOptions options;
    options.offsets = true;
    const Encoding three = tokenizer->encode("   ", options).value();
    EXPECT_EQ(three.ids, (std::vector<TokenId>{0, 0, 0}));
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(three.offsets.at(i).begin, i);
      EXPECT_EQ(three.offsets.at(i).end, 3U);
    }
    const std::string spaces(4 * kSize, ' ');
    EXPECT_EQ(tokenizer->encode(spaces).value().ids.size(), spaces.size());
    EXPECT_LT(seconds_to_encode(*tokenizer, spaces), 5.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileText, testing::ValuesIn(sample_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace polystate
