// What batches give.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/sample_files.h"

namespace polystate {
namespace {

std::vector<std::string> some_texts() {
  std::vector<std::string> texts;
  texts.reserve(100);
  for (std::size_t i = 0; i < 100; ++i) texts.push_back("Hello " + std::string(i, 'l'));
  return texts;
}

TEST(Batch, ThreadsGiveWhatOneThreadGives) {
  const auto tokenizer = open_sample("TikToken");
  const std::vector<std::string> texts = some_texts();
  const std::vector<EncodeInput> inputs(texts.begin(), texts.end());
  const auto alone = tokenizer->encode_batch(inputs, {.threads = 1}).value();
  for (const std::size_t threads : {0, 2, 1000}) {
    const auto together = tokenizer->encode_batch(inputs, {.threads = threads}).value();
    ASSERT_EQ(together.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(together[i].ids, alone[i].ids);
  }
}

TEST(Batch, EachInputIsEncodedAsItIsAlone) {
  const auto tokenizer = open_sample("TikToken");
  const std::vector<EncodeInput> inputs = {"Hello", {"Hello", "llo"}, ""};
  const auto encodings = tokenizer->encode_batch(inputs).value();
  ASSERT_EQ(encodings.size(), 3);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(encodings[i].ids, tokenizer->encode(inputs[i]).value().ids);
}

TEST(Batch, AnEmptyBatchGivesNothing) {
  EXPECT_TRUE(open_sample("TikToken")->encode_batch({}).value().empty());
}

TEST(Batch, TheErrorIsTheFirstInputsAndGivesItsNumber) {
  const auto tokenizer = open_sample("TikToken");
  std::vector<EncodeInput> inputs(50, "Hello");
  inputs[37] = "</s>";
  inputs[41] = "l</s>";
  const auto encodings = tokenizer->encode_batch(
      inputs, {.special_tokens = SpecialTokenPolicy::kRefuse, .threads = 4});
  ASSERT_FALSE(encodings);
  EXPECT_EQ(encodings.error().code, ErrorCode::kContract);
  EXPECT_EQ(encodings.error().message,
            "input 37: the text has the special token '</s>', at byte 0");
}

TEST(Batch, InputsArePaddedTogetherWhereTheFileSaysSo) {
  const auto tokenizer = Tokenizer::parse(TokenizerFormat::kTokenizerJson, R"({
    "padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0},
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})")
                             .value();
  const auto encodings = tokenizer->encode_batch(std::vector<EncodeInput>{"a", "a a a"}).value();
  EXPECT_EQ(encodings[0].ids, (std::vector<TokenId>{1, 0, 0}));
  EXPECT_EQ(encodings[0].attention_mask, (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(encodings[1].ids, (std::vector<TokenId>{1, 1, 1}));
  EXPECT_EQ(tokenizer->encode("a")->ids.size(), 1);
}

}  // namespace
}  // namespace polystate
