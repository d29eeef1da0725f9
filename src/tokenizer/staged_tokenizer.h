#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decode_table.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/scratch.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {

// A tokenizer made of stages, whichever file they were read from.
class StagedTokenizer : public Tokenizer, public std::enable_shared_from_this<StagedTokenizer> {
 public:
  // Errors as AddedVocabulary::create.
  static Result<std::shared_ptr<const Tokenizer>> create(Stages stages);

  [[nodiscard]] Result<Encoding> encode(const EncodeInput& input,
                                        const EncodeOptions& options) const override;
  [[nodiscard]] Result<std::vector<Encoding>> encode_batch(
      std::span<const EncodeInput> inputs, const EncodeOptions& options) const override;
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids,
                                           const DecodeOptions& options) const override;
  [[nodiscard]] std::unique_ptr<DecodeStream> decode_stream(
      const DecodeOptions& options) const override;
  [[nodiscard]] Result<std::string> token_bytes(TokenId id) const override;
  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const override;
  [[nodiscard]] std::optional<std::string> id_to_token(TokenId id) const override;
  [[nodiscard]] std::size_t vocabulary_size() const override { return decode_table_.id_limit(); }
  [[nodiscard]] bool is_special(TokenId id) const override;
  [[nodiscard]] std::vector<TokenId> added_tokens() const override { return added_.ids(); }
  [[nodiscard]] const std::vector<std::string>& warnings() const override {
    return stages_.warnings;
  }

 private:
  class Stream;

  StagedTokenizer(Stages stages, AddedVocabulary added);
  [[nodiscard]] Result<Encoding> encode_parts(const EncodeInput& input,
                                              const EncodeOptions& options) const;
  Status truncate_parts(const EncodeOptions& options, std::vector<EncodedPart>& parts) const;
  void post_process(const EncodeInput& input, const EncodeOptions& options,
                    std::vector<EncodedPart>& parts) const;
  [[nodiscard]] std::string_view token_of(TokenId id, std::string_view text) const;
  [[nodiscard]] Result<const DecodeTable::Entry*> entry_of(TokenId id) const;
  Status decode_id(TokenId id, const DecodeOptions& options, DecodeChain& chain) const;

  Stages stages_;
  AddedVocabulary added_;
  DecodeTable decode_table_;
  mutable ScratchPool scratch_;
};

}  // namespace polystate::tokenizer
