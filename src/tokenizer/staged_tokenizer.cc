#include "tokenizer/staged_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/code_point_offsets.h"
#include "tokenizer/decode_table.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/post_processors/append.h"
#include "tokenizer/post_processors/padding.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/post_processors/truncation.h"
#include "tokenizer/scratch.h"
#include "tokenizer/stages.h"
#include "tokenizer/text_encoder.h"

namespace polystate::tokenizer {

Result<std::shared_ptr<const Tokenizer>> StagedTokenizer::create(Stages stages) {
  Result<AddedVocabulary> added =
      AddedVocabulary::create(stages.added_tokens, *stages.model, stages.normalizer.get());
  if (!added) return added.error();
  return std::shared_ptr<const Tokenizer>(
      new StagedTokenizer(std::move(stages), std::move(*added)));
}

StagedTokenizer::StagedTokenizer(Stages stages, AddedVocabulary added)
    : stages_(std::move(stages)), added_(std::move(added)), decode_table_(stages_, added_) {}

Result<Encoding> StagedTokenizer::encode(const EncodeInput& input,
                                         const EncodeOptions& options) const {
  return or_out_of_memory("encode", "", [&] { return encode_parts(input, options); });
}

Result<Encoding> StagedTokenizer::encode_parts(const EncodeInput& input,
                                               const EncodeOptions& options) const {
  const std::size_t second_size = input.second ? input.second->size() : 0;
  const ScratchPool::Loan scratch(scratch_, std::max(input.first.size(), second_size));
  std::vector<EncodedPart> parts;
  EncodeOptions second_options = options;
  second_options.plain_parts = {};
  const auto encode_text = [&](std::string_view text, const EncodeOptions& text_options) -> Status {
    Result<Encoding> encoding = TextEncoder(stages_, added_, text_options, *scratch).encode(text);
    if (!encoding) return encoding.error();
    const auto type_id = static_cast<std::uint32_t>(parts.size());
    encoding->type_ids.assign(encoding->ids.size(), type_id);
    parts.push_back({std::move(*encoding), parts.size()});
    return {};
  };
  if (const Status done = encode_text(input.first, options); !done) return done.error();
  if (input.second) {
    if (const Status done = encode_text(*input.second, second_options); !done) return done.error();
  }
  if (const Status done = truncate_parts(options, parts); !done) return done.error();
  post_process(input, options, parts);
  if (options.offsets && options.offset_unit == OffsetUnit::kCodePoint) {
    for (EncodedPart& part : parts)
      count_code_points(part.text == 0 ? input.first : input.second.value_or(std::string_view()),
                        part.encoding);
  }
  Encoding whole;  // a template may leave no part
  if (!parts.empty()) whole = std::move(parts[0].encoding);
  for (std::size_t i = 1; i < parts.size(); ++i) append_encoding(whole, parts[i].encoding);
  if (stages_.padding && options.pad) {
    const std::size_t length = padded_length(*stages_.padding, whole.ids.size());
    pad(*stages_.padding, length, options.offsets, whole);
  }
  return whole;
}

Result<std::vector<Encoding>> StagedTokenizer::encode_batch(std::span<const EncodeInput> inputs,
                                                            const EncodeOptions& options) const {
  Result<std::vector<Encoding>> encodings = Tokenizer::encode_batch(inputs, options);
  if (!encodings || !stages_.padding || !options.pad) return encodings;
  const Padding& padding = *stages_.padding;
  std::size_t longest = 0;
  for (const Encoding& encoding : *encodings) longest = std::max(longest, encoding.ids.size());
  const Status padded = or_out_of_memory("pad a batch", "", [&]() -> Status {
    const std::size_t length = padded_length(padding, longest);
    for (Encoding& encoding : *encodings) pad(padding, length, options.offsets, encoding);
    return {};
  });
  if (!padded) return padded.error();
  return encodings;
}

// Leaves room for what the post-processor will add.
Status StagedTokenizer::truncate_parts(const EncodeOptions& options,
                                       std::vector<EncodedPart>& parts) const {
  if (!stages_.truncation || !options.truncate) return {};
  const bool pair = parts.size() == 2;
  const std::size_t added = stages_.post_processor && options.add_special_tokens
                                ? stages_.post_processor->added_tokens(pair)
                                : 0;
  const std::size_t most = stages_.truncation->max_length;
  if (added > most) {
    return Error{ErrorCode::kContract, "the tokenizer truncates to " + std::to_string(most) +
                                           " tokens and adds " + std::to_string(added)};
  }
  return truncate(*stages_.truncation, most - added, parts[0].encoding,
                  pair ? &parts[1].encoding : nullptr);
}

void StagedTokenizer::post_process(const EncodeInput& input, const EncodeOptions& options,
                                   std::vector<EncodedPart>& parts) const {
  if (!stages_.post_processor) return;
  const PostProcessing with = {
      options.add_special_tokens,
      options.offsets,
      {input.first, input.second.value_or(std::string_view())},
      [this](TokenId id, std::string_view text) { return token_of(id, text); }};
  stages_.post_processor->process(with, parts);
}

std::string_view StagedTokenizer::token_of(TokenId id, std::string_view text) const {
  const AddedToken* const added = added_.token(id);
  const bool found = added != nullptr && text.find(added->content) != std::string_view::npos;
  if (found) return text;
  return stages_.model->vocabulary().token(id).value_or(text);
}

Result<std::string> StagedTokenizer::decode(std::span<const TokenId> ids,
                                            const DecodeOptions& options) const {
  return or_out_of_memory("decode", "", [&]() -> Result<std::string> {
    DecodeChain chain(stages_.decoders);
    for (const TokenId id : ids) {
      if (const Status done = decode_id(id, options, chain); !done) return done.error();
    }
    chain.finish();
    return chain.take();
  });
}

Result<const DecodeTable::Entry*> StagedTokenizer::entry_of(TokenId id) const {
  if (const DecodeTable::Entry* const entry = decode_table_.find(id)) return entry;
  const bool is_left_out = id < decode_table_.id_limit();
  return Error{ErrorCode::kContract, "the id " + std::to_string(id) +
                                         " is not in the vocabulary, whose ids are less than " +
                                         std::to_string(decode_table_.id_limit()) +
                                         (is_left_out ? " and leave it out" : "")};
}

// Gives the chain the text of an id, unless the options leave it out.
Status StagedTokenizer::decode_id(TokenId id, const DecodeOptions& options,
                                  DecodeChain& chain) const {
  const auto entry = entry_of(id);
  if (!entry) return entry.error();
  if (!(*entry)->special || !options.skip_special_tokens) chain.token(decode_table_.text(**entry));
  return {};
}

Result<std::string> StagedTokenizer::token_bytes(TokenId id) const {
  const auto entry = entry_of(id);
  if (!entry) return entry.error();
  return or_out_of_memory("decode", "", [&]() -> Result<std::string> {
    TokenBytes token{std::string(decode_table_.text(**entry))};
    for (const auto& decoder : stages_.decoders) {
      if (!decoder->to_bytes(token)) return Tokenizer::token_bytes(id);
    }
    return std::move(token.bytes);
  });
}

class StagedTokenizer::Stream : public DecodeStream {
 public:
  Stream(std::shared_ptr<const StagedTokenizer> tokenizer, DecodeOptions options)
      : tokenizer_(std::move(tokenizer)), options_(options), chain_(tokenizer_->stages_.decoders) {}

  Result<std::string> push(TokenId id) override {
    return or_out_of_memory("decode", "", [&]() -> Result<std::string> {
      const Status done = tokenizer_->decode_id(id, options_, chain_);
      if (!done) return done.error();
      return chain_.take();
    });
  }

  Result<std::string> finish() override {
    return or_out_of_memory("decode", "", [&] {
      chain_.finish();
      return chain_.take();
    });
  }

 private:
  std::shared_ptr<const StagedTokenizer> tokenizer_;
  DecodeOptions options_;
  DecodeChain chain_;
};

std::unique_ptr<DecodeStream> StagedTokenizer::decode_stream(const DecodeOptions& options) const {
  return std::make_unique<Stream>(shared_from_this(), options);
}

std::optional<TokenId> StagedTokenizer::token_to_id(std::string_view token) const {
  if (const auto id = added_.token_to_id(token)) return id;
  return stages_.model->vocabulary().find(token);
}

std::optional<std::string> StagedTokenizer::id_to_token(TokenId id) const {
  if (const AddedToken* const added = added_.token(id)) return added->content;
  if (const auto token = stages_.model->vocabulary().token(id)) return std::string(*token);
  return std::nullopt;
}

bool StagedTokenizer::is_special(TokenId id) const {
  const DecodeTable::Entry* const entry = decode_table_.find(id);
  return entry != nullptr && entry->special;
}

}  // namespace polystate::tokenizer
