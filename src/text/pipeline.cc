#include "text/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/text/encoding.h"
#include "polystate/text/tokenizer.h"
#include "text/added_vocabulary.h"
#include "text/aligned_text.h"
#include "text/decoder.h"
#include "text/encoding_edit.h"
#include "text/model.h"
#include "text/post_processor.h"
#include "text/pre_tokenized_text.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace polystate::text {

struct Pipeline::Scratch {
  WordCache cache;
  std::string repaired;                   // the text, where it was malformed
  std::vector<ByteRange> text_alignment;  // of the caller's text
  std::string normalized;
  std::vector<ByteRange> normalized_alignment;
  std::vector<AddedVocabulary::Match> matches;
  std::vector<AddedVocabulary::Match> normalized_matches;
  PreTokenizedText pieces;
  std::vector<Token> tokens;  // of one piece
};

// Borrows a scratch for as long as it lives.
class Pipeline::ScratchLoan {
 public:
  explicit ScratchLoan(const Pipeline& pipeline) : pipeline_(pipeline) {
    const std::lock_guard<std::mutex> lock(pipeline.scratch_mutex_);
    if (pipeline.idle_scratch_.empty()) {
      scratch_ = std::make_unique<Scratch>();
    } else {
      scratch_ = std::move(pipeline.idle_scratch_.back());
      pipeline.idle_scratch_.pop_back();
    }
  }
  ScratchLoan(const ScratchLoan&) = delete;
  ScratchLoan& operator=(const ScratchLoan&) = delete;
  ~ScratchLoan() {
    const std::lock_guard<std::mutex> lock(pipeline_.scratch_mutex_);
    pipeline_.idle_scratch_.push_back(std::move(scratch_));
  }
  Scratch& operator*() const { return *scratch_; }

 private:
  const Pipeline& pipeline_;
  std::unique_ptr<Scratch> scratch_;
};

// Encodes one text, without what the post-processor adds.
class Pipeline::TextEncoder {
 public:
  TextEncoder(const Pipeline& pipeline, const EncodeOptions& options, Scratch& scratch)
      : pipeline_(pipeline),
        options_(options),
        scratch_(scratch),
        tracks_(options.offsets || pipeline.needs_origin_) {}

  Result<Encoding> encode(std::string_view text, std::size_t index) {
    if (text.size() > kMaxTextBytes) {
      return Error{ErrorCode::kContract, "a text has " + std::to_string(text.size()) +
                                             " bytes; the limit is " +
                                             std::to_string(kMaxTextBytes)};
    }
    read(text);
    if (const Status split = split_added(); !split) return split.error();
    if (pipeline_.parts_.pre_tokenizer) {
      const Status split = pipeline_.parts_.pre_tokenizer->pre_tokenize(scratch_.pieces);
      if (!split) return split.error();
    }
    if (const Status done = tokenize(); !done) return done.error();
    const std::size_t count = encoding_.ids.size();
    encoding_.type_ids.assign(count, static_cast<std::uint32_t>(index));
    encoding_.special_tokens_mask.assign(count, 0);
    encoding_.attention_mask.assign(count, 1);
    return std::move(encoding_);
  }

 private:
  // Makes the text valid UTF-8 and aligns it with the caller's.
  void read(std::string_view text) {
    text_ = text;
    scratch_.text_alignment.clear();
    const bool valid = valid_prefix(text) == text.size();
    if (valid && !tracks_) return;
    scratch_.repaired.clear();
    append_repaired(text, scratch_.repaired, tracks_ ? &scratch_.text_alignment : nullptr);
    if (!valid) text_ = scratch_.repaired;
  }

  [[nodiscard]] std::span<const ByteRange> alignment_of(ByteRange range) const {
    if (!tracks_) return {};
    return std::span(scratch_.text_alignment).subspan(range.begin, range.end - range.begin);
  }

  Status refused(const AddedVocabulary::Match& match, std::string_view text) const {
    const std::string_view found =
        text.substr(match.range.begin, match.range.end - match.range.begin);
    return Error{ErrorCode::kContract, "the text has the special token '" + std::string(found) +
                                           "', at byte " + std::to_string(match.range.begin)};
  }

  // Finds added tokens in `text`.
  Status find(std::string_view text, bool normalized,
              std::vector<AddedVocabulary::Match>& matches) const {
    matches.clear();
    const AddedVocabulary& added = pipeline_.added_;
    if (!added.looks_for(normalized)) return {};
    added.find(text, normalized, options_.special_tokens == SpecialTokenPolicy::kPlainText,
               matches);
    if (options_.special_tokens != SpecialTokenPolicy::kRefuse) return {};
    for (const AddedVocabulary::Match& match : matches) {
      if (added.token(match.id)->special) return refused(match, text);
    }
    return {};
  }

  // Calls part(range, id) for the tokens of `matches` and what lies between them.
  template <typename Part>
  static Status for_each_part(std::size_t size, const std::vector<AddedVocabulary::Match>& matches,
                              Part&& part) {
    std::uint32_t end = 0;
    for (const AddedVocabulary::Match& match : matches) {
      if (end < match.range.begin) {
        if (const Status done = part(ByteRange{end, match.range.begin}, std::nullopt); !done)
          return done;
      }
      if (const Status done = part(match.range, std::optional(match.id)); !done) return done;
      end = match.range.end;
    }
    if (end == size) return {};
    return part(ByteRange{end, static_cast<std::uint32_t>(size)}, std::nullopt);
  }

  // Splits the text at added tokens and normalizes what lies between them.
  Status split_added() {
    if (const Status found = find(text_, false, scratch_.matches); !found) return found;
    PreTokenizedText& pieces = scratch_.pieces;
    if (!pipeline_.parts_.normalizer) {
      pieces.start(text_, scratch_.text_alignment, tracks_);
      return for_each_part(text_.size(), scratch_.matches,
                           [&](ByteRange range, std::optional<TokenId> id) -> Status {
                             if (!id)
                               return add_pieces(
                                   range.begin, text_.substr(range.begin, range.end - range.begin));
                             pieces.add({range.begin, range.end, id});
                             return {};
                           });
    }
    scratch_.normalized.clear();
    scratch_.normalized_alignment.clear();
    pieces.start({}, {}, tracks_);
    const Status done = for_each_part(
        text_.size(), scratch_.matches,
        [&](ByteRange range, std::optional<TokenId> id) { return add_part(range, id); });
    pieces.set_text(scratch_.normalized, scratch_.normalized_alignment);
    return done;
  }

  // Appends a part of the text, and the token that it starts with, if any.
  Status add_part(ByteRange range, std::optional<TokenId> id) {
    if (!id && pipeline_.parts_.leading_token) {
      const auto leading =
          pipeline_.parts_.leading_token(text_.substr(range.begin, range.end - range.begin));
      if (leading) {
        const auto end = static_cast<std::uint32_t>(range.begin + leading->size);
        if (const Status done = add_normalized({range.begin, end}, leading->id); !done) return done;
        range.begin = end;
        if (range.begin == range.end) return {};
      }
    }
    return add_normalized(range, id);
  }

  // Appends a part of the text to the normalized one, and its pieces.
  Status add_normalized(ByteRange range, std::optional<TokenId> id) {
    const std::string_view source = text_.substr(range.begin, range.end - range.begin);
    const auto begin = static_cast<std::uint32_t>(scratch_.normalized.size());
    const std::span<const ByteRange> alignment = alignment_of(range);
    if (id) {
      scratch_.normalized += source;
      scratch_.normalized_alignment.insert(scratch_.normalized_alignment.end(), alignment.begin(),
                                           alignment.end());
      scratch_.pieces.add({begin, begin + static_cast<std::uint32_t>(source.size()), id});
      return {};
    }
    AlignedText text;
    text.text = source;
    text.tracks = tracks_;
    text.alignment.assign(alignment.begin(), alignment.end());
    text.origin = tracks_ ? alignment[0].begin : 0;
    if (const Status done = pipeline_.parts_.normalizer->normalize(text); !done) return done;
    if (const Status done = add_pieces(begin, text.text); !done) return done;
    scratch_.normalized += text.text;
    scratch_.normalized_alignment.insert(scratch_.normalized_alignment.end(),
                                         text.alignment.begin(), text.alignment.end());
    return {};
  }

  // Adds the pieces of a normalized text, which starts at `begin` of all of it.
  Status add_pieces(std::uint32_t begin, std::string_view text) {
    if (const Status found = find(text, true, scratch_.normalized_matches); !found) return found;
    return for_each_part(text.size(), scratch_.normalized_matches,
                         [&](ByteRange range, std::optional<TokenId> id) -> Status {
                           scratch_.pieces.add({begin + range.begin, begin + range.end, id});
                           return {};
                         });
  }

  // Appends the tokens of a piece to `tokens`.
  Status tokenize_piece(const Piece& piece, std::vector<Token>& tokens) {
    if (piece.token) {
      tokens.push_back({*piece.token, 0, piece.end - piece.begin});
      return {};
    }
    const std::string_view text = scratch_.pieces.text_of(piece);
    if (text.size() > WordCache::kMaxPieceBytes)
      return pipeline_.parts_.model->tokenize(text, tokens);
    if (const auto known = scratch_.cache.find(text)) {
      tokens.insert(tokens.end(), known->begin(), known->end());
      return {};
    }
    const std::size_t before = tokens.size();
    if (const Status done = pipeline_.parts_.model->tokenize(text, tokens); !done) return done;
    scratch_.cache.put(text, std::span(tokens).subspan(before));
    return {};
  }

  void add_tokens(const Piece& piece, std::span<const Token> tokens) {
    for (const Token& token : tokens) encoding_.ids.push_back(token.id);
    if (!options_.offsets) return;
    const std::span<const ByteRange> alignment = scratch_.pieces.alignment();
    for (const Token& token : tokens) {
      const std::uint32_t begin = piece.begin + token.begin;
      const std::uint32_t end = piece.begin + token.end;
      if (begin < end) {
        encoding_.offsets.push_back({alignment[begin].begin, alignment[end - 1].end});
      } else {
        encoding_.offsets.push_back({});
      }
    }
  }

  Status tokenize() {
    const auto& pieces = scratch_.pieces.pieces();
    encoding_.ids.reserve(scratch_.pieces.text().size() / 4 + pieces.size() / 2);
    for (const Piece& piece : pieces) {
      scratch_.tokens.clear();
      if (const Status done = tokenize_piece(piece, scratch_.tokens); !done) return done;
      add_tokens(piece, scratch_.tokens);
    }
    return {};
  }

  const Pipeline& pipeline_;
  const EncodeOptions& options_;
  Scratch& scratch_;
  bool tracks_;
  std::string_view text_;
  Encoding encoding_;
};

Pipeline::Pipeline(PipelineParts parts, AddedVocabulary added)
    : parts_(std::move(parts)),
      added_(std::move(added)),
      needs_origin_(parts_.pre_tokenizer && parts_.pre_tokenizer->needs_origin()) {}

Pipeline::~Pipeline() = default;

Result<std::shared_ptr<const Pipeline>> Pipeline::create(PipelineParts parts) {
  Result<AddedVocabulary> added =
      AddedVocabulary::create(parts.added_tokens, *parts.model, parts.normalizer.get());
  if (!added) return added.error();
  std::shared_ptr<Pipeline> pipeline(new Pipeline(std::move(parts), std::move(*added)));
  pipeline->prepare_decoding();
  return std::shared_ptr<const Pipeline>(std::move(pipeline));
}

void Pipeline::prepare_decoding() {
  const std::size_t limit = std::max(parts_.model->id_limit(), added_.id_limit());
  decoded_.resize(limit);
  decoded_text_.reserve(limit * 8);
  for (std::size_t i = 0; i < limit; ++i) {
    const auto id = static_cast<TokenId>(i);
    auto text = added_.decoded_text(id);
    if (!text) text = parts_.model->id_to_token(id);
    if (!text) continue;
    Decoded& decoded = decoded_[i];
    decoded.known = true;
    decoded.special = added_.is_special(id);
    decoded.begin = static_cast<std::uint32_t>(decoded_text_.size());
    if (parts_.decoded_token) {
      decoded_text_ += parts_.decoded_token(id, *text);
    } else {
      decoded_text_ += *text;
    }
    decoded.size = static_cast<std::uint32_t>(decoded_text_.size()) - decoded.begin;
  }
  for (const TokenId id : parts_.hidden_tokens) {
    if (id < limit) decoded_[id].special = true;
  }
}

Result<Encoding> Pipeline::encode(std::span<const std::string_view> texts,
                                  const EncodeOptions& options) const {
  const ScratchLoan scratch(*this);
  std::vector<EncodedPart> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Result<Encoding> encoding = TextEncoder(*this, options, *scratch).encode(texts[i], i);
    if (!encoding) return encoding.error();
    parts.push_back({std::move(*encoding), i});
  }
  if (const Status done = post_process(texts, options, parts); !done) return done.error();
  Encoding whole = std::move(parts[0].encoding);
  for (std::size_t i = 1; i < parts.size(); ++i) append_encoding(whole, parts[i].encoding);
  if (parts_.padding) pad(*parts_.padding, padded_length(*parts_.padding, whole.ids.size()), whole);
  return whole;
}

Status Pipeline::post_process(std::span<const std::string_view> texts, const EncodeOptions& options,
                              std::vector<EncodedPart>& parts) const {
  const PostProcessor* const processor = parts_.post_processor.get();
  if (parts_.truncation) {
    const std::size_t added = processor != nullptr && options.add_special_tokens
                                  ? processor->added_tokens(parts.size() == 2)
                                  : 0;
    const std::size_t most = parts_.truncation->max_length;
    if (added > most) {
      return Error{ErrorCode::kContract, "the tokenizer truncates to " + std::to_string(most) +
                                             " tokens and adds " + std::to_string(added)};
    }
    const Status done = truncate(*parts_.truncation, most - added, parts[0].encoding,
                                 parts.size() == 2 ? &parts[1].encoding : nullptr);
    if (!done) return done;
  }
  if (processor == nullptr) return {};
  for (EncodedPart& part : parts) {
    part.encoding.type_ids.assign(part.encoding.ids.size(), static_cast<std::uint32_t>(part.text));
  }
  processor->process({options.add_special_tokens,
                      options.offsets,
                      {texts.begin(), texts.end()},
                      [this](TokenId id) -> std::optional<std::string_view> {
                        if (added_.token(id) != nullptr) return std::nullopt;
                        return parts_.model->id_to_token(id);
                      }},
                     parts);
  return {};
}

void Pipeline::pad_batch(std::span<Encoding> encodings) const {
  if (!parts_.padding) return;
  std::size_t longest = 0;
  for (const Encoding& encoding : encodings) longest = std::max(longest, encoding.ids.size());
  const std::size_t length = padded_length(*parts_.padding, longest);
  for (Encoding& encoding : encodings) pad(*parts_.padding, length, encoding);
}

std::unique_ptr<DecodeChain> Pipeline::decode_chain() const {
  return std::make_unique<DecodeChain>(parts_.decoders);
}

Status Pipeline::decode(TokenId id, bool skip_special, DecodeChain& chain) const {
  if (id >= decoded_.size() || !decoded_[id].known) {
    return Error{ErrorCode::kContract, "the id " + std::to_string(id) +
                                           " is not in the vocabulary, whose ids are less than " +
                                           std::to_string(decoded_.size())};
  }
  const Decoded& decoded = decoded_[id];
  if (decoded.special && skip_special) return {};
  chain.token(std::string_view(decoded_text_).substr(decoded.begin, decoded.size));
  return {};
}

std::optional<TokenId> Pipeline::token_to_id(std::string_view token) const {
  if (const auto id = added_.token_to_id(token)) return id;
  return parts_.model->token_to_id(token);
}

std::optional<std::string> Pipeline::id_to_token(TokenId id) const {
  if (const AddedToken* const added = added_.token(id)) return added->content;
  if (const auto token = parts_.model->id_to_token(id)) return std::string(*token);
  return std::nullopt;
}

}  // namespace polystate::text
