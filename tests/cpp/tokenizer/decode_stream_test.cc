// What streams give, token by token.

#include "polystate/tokenizer/decode_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/sample_files.h"

namespace polystate {
namespace {

// A character of four bytes and one of two, which these vocabularies write as a token a byte.
constexpr std::string_view kText = "He \xF0\x9F\x98\x80\xC3\xA9llo";

class DecodeStreams : public testing::TestWithParam<std::string> {
 protected:
  DecodeStreams() : ids_(tokenizer_->encode(kText, {.add_special_tokens = false}).value().ids) {}

  std::shared_ptr<const Tokenizer> tokenizer_ = open_sample(GetParam());
  std::vector<TokenId> ids_;
};

TEST_P(DecodeStreams, APartHoldsWholeCharacters) {
  const auto stream = tokenizer_->decode_stream();
  for (const TokenId id : ids_) {
    EXPECT_TRUE(is_utf8(stream->push(id).value()));
  }
  EXPECT_TRUE(is_utf8(stream->finish().value()));
}

TEST_P(DecodeStreams, PartsJoinedAreTheDecodedText) {
  const auto stream = tokenizer_->decode_stream();
  std::string text;
  for (const TokenId id : ids_) text += stream->push(id).value();
  text += stream->finish().value();
  EXPECT_EQ(text, tokenizer_->decode(ids_).value());
  EXPECT_EQ(text, kText);
}

TEST_P(DecodeStreams, AFailedPushLeavesTheStreamAsBefore) {
  const auto stream = tokenizer_->decode_stream();
  const auto past_the_end = static_cast<TokenId>(tokenizer_->vocabulary_size());
  std::string text;
  for (const TokenId id : ids_) {
    ASSERT_EQ(stream->push(past_the_end).error().code, ErrorCode::kContract);
    text += stream->push(id).value();
  }
  EXPECT_EQ(text + stream->finish().value(), kText);
}

TEST_P(DecodeStreams, AFinishedStreamStartsAnew) {
  const auto stream = tokenizer_->decode_stream();
  // The first byte of a character, which finish gives as U+FFFD.
  const TokenId first_byte = tokenizer_->encode("\xF0\x9F\x98\x80").value().ids.rbegin()[3];
  EXPECT_EQ(stream->push(first_byte).value(), "");
  EXPECT_EQ(stream->finish().value(), "\xEF\xBF\xBD");
  std::string text;
  for (const TokenId id : ids_) text += stream->push(id).value();
  EXPECT_EQ(text + stream->finish().value(), kText);
}

TEST_P(DecodeStreams, AStreamKeepsItsTokenizer) {
  const auto stream = tokenizer_->decode_stream();
  tokenizer_.reset();
  std::string text;
  for (const TokenId id : ids_) text += stream->push(id).value();
  EXPECT_EQ(text + stream->finish().value(), kText);
}

INSTANTIATE_TEST_SUITE_P(Formats, DecodeStreams,
                         testing::Values("TikToken", "SentencePieceUnigram", "SentencePieceBpe"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace polystate
