#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// Does what another tokenizer does, for tests that change or count a part of it.
class WrappedTokenizer : public Tokenizer {
 public:
  explicit WrappedTokenizer(std::shared_ptr<const Tokenizer> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Result<Encoding> encode(const EncodeInput& input,
                                        const EncodeOptions& options) const override {
    return inner_->encode(input, options);
  }
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids,
                                           const DecodeOptions& options) const override {
    return inner_->decode(ids, options);
  }
  [[nodiscard]] std::unique_ptr<DecodeStream> decode_stream(
      const DecodeOptions& options) const override {
    return inner_->decode_stream(options);
  }
  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const override {
    return inner_->token_to_id(token);
  }
  [[nodiscard]] std::optional<std::string> id_to_token(TokenId id) const override {
    return inner_->id_to_token(id);
  }
  [[nodiscard]] std::size_t vocabulary_size() const override { return inner_->vocabulary_size(); }
  [[nodiscard]] bool is_special(TokenId id) const override { return inner_->is_special(id); }
  [[nodiscard]] const std::vector<std::string>& warnings() const override {
    return inner_->warnings();
  }

 private:
  std::shared_ptr<const Tokenizer> inner_;
};

}  // namespace polystate
