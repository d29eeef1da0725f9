#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/text/encoding.h"
#include "polystate/text/tokenizer.h"
#include "text/added_vocabulary.h"
#include "text/decoder.h"
#include "text/encoding_edit.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenized_text.h"
#include "text/pre_tokenizer.h"
#include "text/word_cache.h"

namespace polystate::text {

// A token that a text starts with, before it is normalized.
struct LeadingToken {
  std::size_t size;  // bytes, more than 0
  TokenId id;
};

// What a tokenizer is made of. Loaders fill it in; null parts do nothing.
struct PipelineParts {
  std::unique_ptr<const Normalizer> normalizer;
  // Finds a token at the start of what lies between added tokens. Only with a normalizer.
  std::function<std::optional<LeadingToken>(std::string_view)> leading_token;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  std::unique_ptr<const Model> model;  // never null
  std::vector<AddedToken> added_tokens;
  std::unique_ptr<const PostProcessor> post_processor;
  std::vector<std::unique_ptr<const Decoder>> decoders;
  // What the first decoder is given for a token of the model, where that is not the token itself.
  std::function<std::string(TokenId, std::string_view)> decoded_token;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  std::vector<TokenId> hidden_tokens;  // left out when special tokens are, though not added ones
  std::vector<std::string> warnings;
};

// A tokenizer at work: normalizer, pre-tokenizer, model, post-processor, and decoders. Immutable,
// and shared by threads.
class Pipeline {
 public:
  // Bytes that a text may have.
  static constexpr std::size_t kMaxTextBytes = std::size_t{128} << 20;

  // Errors as AddedVocabulary::create.
  static Result<std::shared_ptr<const Pipeline>> create(PipelineParts parts);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  // Encodes one or two texts.
  Result<Encoding> encode(std::span<const std::string_view> texts,
                          const EncodeOptions& options) const;
  // Pads encodings of a batch together, where the file says so.
  void pad_batch(std::span<Encoding> encodings) const;

  [[nodiscard]] std::unique_ptr<DecodeChain> decode_chain() const;
  // Gives the chain the text of an id, unless `skip_special` leaves it out. kContract when it is
  // not in the vocabulary.
  Status decode(TokenId id, bool skip_special, DecodeChain& chain) const;

  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const;
  [[nodiscard]] std::optional<std::string> id_to_token(TokenId id) const;
  [[nodiscard]] std::size_t id_limit() const { return decoded_.size(); }
  [[nodiscard]] bool is_special(TokenId id) const {
    return id < decoded_.size() && decoded_[id].special;
  }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return parts_.warnings; }

 private:
  // Buffers of one encoding at work, and what was learnt while encoding.
  struct Scratch;
  class ScratchLoan;
  // The text that decoders are given for an id.
  struct Decoded {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    bool known = false;
    bool special = false;
  };
  class TextEncoder;

  Pipeline(PipelineParts parts, AddedVocabulary added);
  void prepare_decoding();
  Status post_process(std::span<const std::string_view> texts, const EncodeOptions& options,
                      std::vector<EncodedPart>& parts) const;

  PipelineParts parts_;
  AddedVocabulary added_;
  bool needs_origin_;  // a pre-tokenizer needs offsets even where the caller does not
  std::string decoded_text_;
  std::vector<Decoded> decoded_;  // by id
  mutable std::mutex scratch_mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_scratch_;
};

}  // namespace polystate::text
