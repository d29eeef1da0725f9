// A class of the user's own serves as a tokenizer.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// Every byte is a token.
class Bytes : public Tokenizer {
 public:
  [[nodiscard]] Result<Encoding> encode(const EncodeInput& input,
                                        const EncodeOptions& /*options*/) const override {
    if (input.first == "!") return Error{ErrorCode::kContract, "no exclamations"};
    if (input.first == "too much") throw std::bad_alloc();
    Encoding encoding;
    encoding.ids.assign(input.first.begin(), input.first.end());
    return encoding;
  }
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids,
                                           const DecodeOptions& /*options*/) const override {
    return std::string(ids.begin(), ids.end());
  }
  [[nodiscard]] std::unique_ptr<DecodeStream> decode_stream(
      const DecodeOptions& /*options*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const override {
    return token.size() == 1 ? std::optional<TokenId>(token[0]) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> id_to_token(TokenId id) const override {
    return std::string(1, static_cast<char>(id));
  }
  [[nodiscard]] std::size_t vocabulary_size() const override { return 256; }
  [[nodiscard]] bool is_special(TokenId /*id*/) const override { return false; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  std::vector<std::string> warnings_;
};

TEST(OwnTokenizer, IsUsedLikeAnyOther) {
  const std::shared_ptr<const Tokenizer> tokenizer = std::make_shared<Bytes>();
  const std::vector<TokenId> ids = tokenizer->encode("ab").value().ids;
  EXPECT_EQ(ids, (std::vector<TokenId>{'a', 'b'}));
  EXPECT_EQ(tokenizer->decode(ids).value(), "ab");
}

TEST(OwnTokenizer, HasBatchesWithoutWritingThem) {
  const Bytes tokenizer;
  const std::vector<EncodeInput> inputs(40, "ab");
  const auto encodings = tokenizer.encode_batch(inputs, {.threads = 3}).value();
  ASSERT_EQ(encodings.size(), 40);
  for (const Encoding& encoding : encodings) EXPECT_EQ(encoding.ids.size(), 2);
}

TEST(OwnTokenizer, ItsErrorsAreThoseOfABatch) {
  const Bytes tokenizer;
  const auto encodings = tokenizer.encode_batch(std::vector<EncodeInput>{"a", "!"});
  ASSERT_FALSE(encodings);
  EXPECT_EQ(encodings.error().message, "input 1: no exclamations");
}

TEST(OwnTokenizer, ABatchThatRunsOutOfMemoryOnAnyThreadIsAnError) {
  const Bytes tokenizer;
  const std::vector<EncodeInput> inputs(100, "too much");
  const auto encodings = tokenizer.encode_batch(inputs, {.threads = 4});
  ASSERT_FALSE(encodings);
  EXPECT_EQ(encodings.error().code, ErrorCode::kEngine);
}

}  // namespace
}  // namespace polystate
