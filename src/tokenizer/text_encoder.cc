#include "tokenizer/text_encoder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/regex/deadline.h"
#include "tokenizer/scratch.h"
#include "tokenizer/stages.h"
#include "tokenizer/unicode/repair.h"

namespace polystate::tokenizer {
namespace {

std::string_view part_of(std::string_view text, TextRange range) {
  return text.substr(range.begin, range.end - range.begin);
}

Error refused(const AddedVocabulary::Match& match, std::string_view text) {
  return {ErrorCode::kContract, "the text has the special token '" +
                                    std::string(part_of(text, match.range)) + "', at byte " +
                                    std::to_string(match.range.begin)};
}

// Calls part(range, id) for the tokens of `matches` and what lies between them.
template <typename Part>
Status for_each_part(std::size_t size, const std::vector<AddedVocabulary::Match>& matches,
                     Part&& part) {
  std::uint32_t end = 0;
  for (const AddedVocabulary::Match& match : matches) {
    if (end < match.range.begin) {
      const Status done = part(TextRange{end, match.range.begin}, std::nullopt);
      if (!done) return done;
    }
    if (const Status done = part(match.range, std::optional(match.id)); !done) return done;
    end = match.range.end;
  }
  if (end == size) return {};
  return part(TextRange{end, static_cast<std::uint32_t>(size)}, std::nullopt);
}

}  // namespace

TextEncoder::TextEncoder(const Stages& stages, const AddedVocabulary& added,
                         const EncodeOptions& options, Scratch& scratch)
    : stages_(stages),
      added_(added),
      options_(options),
      scratch_(scratch),
      plain_(options.plain_parts),
      tracks_(options.offsets || !plain_.empty() ||
              (stages.pre_tokenizer && stages.pre_tokenizer->needs_origin())) {}

Result<Encoding> TextEncoder::encode(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Error{ErrorCode::kContract, "a text has " + std::to_string(text.size()) +
                                           " bytes; the limit is " + std::to_string(kMaxTextBytes)};
  }
  read(text);
  if (const Status split = split_added(); !split) return split.error();
  if (stages_.pre_tokenizer) {
    const Status split = stages_.pre_tokenizer->pre_tokenize(scratch_.pieces);
    if (!split) return split.error();
  }
  if (const Status done = tokenize(); !done) return done.error();
  const std::size_t count = encoding_.ids.size();
  encoding_.special_tokens_mask.assign(count, 0);
  encoding_.attention_mask.assign(count, 1);
  return std::move(encoding_);
}

// Makes the text valid UTF-8 and aligns it with the caller's.
void TextEncoder::read(std::string_view text) {
  text_ = text;
  scratch_.text_alignment.clear();
  const bool valid = valid_prefix(text) == text.size();
  if (valid && !tracks_) return;
  scratch_.repaired.clear();
  append_repaired(text, scratch_.repaired, tracks_ ? &scratch_.text_alignment : nullptr);
  if (!valid) text_ = scratch_.repaired;
}

std::span<const TextRange> TextEncoder::alignment_of(TextRange range) const {
  if (!tracks_) return {};
  return std::span(scratch_.text_alignment).subspan(range.begin, range.end - range.begin);
}

// Finds added tokens in `text`.
Status TextEncoder::find(std::string_view text, std::span<const TextRange> alignment,
                         bool normalized, std::vector<AddedVocabulary::Match>& matches) const {
  matches.clear();
  if (!added_.looks_for(normalized)) return {};
  const bool skips_special = options_.special_tokens == SpecialTokenPolicy::kPlainText;
  if (plain_.empty()) alignment = {};
  added_.find(text, normalized, {skips_special, plain_, alignment}, matches);
  if (options_.special_tokens != SpecialTokenPolicy::kRefuse) return {};
  for (const AddedVocabulary::Match& match : matches) {
    if (added_.token(match.id)->special) return refused(match, text);
  }
  return {};
}

// Splits the text at added tokens and normalizes what lies between them.
Status TextEncoder::split_added() {
  if (const Status found = find(text_, scratch_.text_alignment, false, scratch_.matches); !found)
    return found;
  PreTokenizedText& pieces = scratch_.pieces;
  if (!stages_.normalizer) {
    pieces.start(text_, scratch_.text_alignment, tracks_);
    return for_each_part(
        text_.size(), scratch_.matches, [&](TextRange range, std::optional<TokenId> id) -> Status {
          if (!id) return add_pieces(range.begin, part_of(text_, range), alignment_of(range));
          pieces.add({range.begin, range.end, id});
          return {};
        });
  }
  scratch_.normalized.clear();
  scratch_.normalized_alignment.clear();
  pieces.start({}, {}, tracks_);
  Deadline deadline(text_.size());
  const Status done = for_each_part(
      text_.size(), scratch_.matches,
      [&](TextRange range, std::optional<TokenId> id) { return add_part(range, id, deadline); });
  pieces.set_text(scratch_.normalized, scratch_.normalized_alignment);
  return done;
}

// Appends a part of the text, and the token that it starts with, if any.
Status TextEncoder::add_part(TextRange range, std::optional<TokenId> id, Deadline& deadline) {
  if (!id && stages_.leading_token) {
    if (const auto leading = stages_.leading_token(part_of(text_, range))) {
      const auto end = static_cast<std::uint32_t>(range.begin + leading->size);
      if (Status done = add_normalized({range.begin, end}, leading->id, deadline); !done)
        return done;
      range.begin = end;
      if (range.begin == range.end) return {};
    }
  }
  return add_normalized(range, id, deadline);
}

// Appends a part of the text to the normalized one, and its pieces.
Status TextEncoder::add_normalized(TextRange range, std::optional<TokenId> id, Deadline& deadline) {
  const std::string_view source = part_of(text_, range);
  const auto begin = static_cast<std::uint32_t>(scratch_.normalized.size());
  const std::span<const TextRange> alignment = alignment_of(range);
  const auto append = [this](std::string_view text, std::span<const TextRange> text_alignment) {
    scratch_.normalized += text;
    scratch_.normalized_alignment.insert(scratch_.normalized_alignment.end(),
                                         text_alignment.begin(), text_alignment.end());
  };
  if (id) {
    keep_token(0, static_cast<std::uint32_t>(source.size()),
               [&](std::uint32_t from, std::uint32_t to) {
                 const std::string_view kept = source.substr(from, to - from);
                 append(kept, tracks_ ? alignment.subspan(from, kept.size()) : alignment);
               });
    const auto end = static_cast<std::uint32_t>(scratch_.normalized.size());
    scratch_.pieces.add({begin, end, id});
    return {};
  }
  AlignedText text;
  text.text = source;
  text.tracks = tracks_;
  text.alignment.assign(alignment.begin(), alignment.end());
  text.origin = tracks_ ? alignment[0].begin : 0;
  text.deadline = &deadline;
  if (const Status done = stages_.normalizer->normalize(text); !done) return done;
  // Each part may grow, and positions in all of them have 32 bits.
  const std::size_t size = scratch_.normalized.size() + text.text.size();
  if (size > kMaxNormalizedBytes) return grew_too_much(size);
  if (const Status done = add_pieces(begin, text.text, text.alignment); !done) return done;
  append(text.text, text.alignment);
  return {};
}

// Adds the pieces of a normalized text, which starts at `begin` of all of it.
Status TextEncoder::add_pieces(std::uint32_t begin, std::string_view text,
                               std::span<const TextRange> alignment) {
  Status found = find(text, alignment, true, scratch_.normalized_matches);
  if (!found) return found;
  return for_each_part(text.size(), scratch_.normalized_matches,
                       [&](TextRange range, std::optional<TokenId> id) -> Status {
                         scratch_.pieces.add({begin + range.begin, begin + range.end, id});
                         return {};
                       });
}

Status TextEncoder::tokenize() {
  const std::vector<Piece>& pieces = scratch_.pieces.pieces();
  encoding_.ids.reserve(scratch_.pieces.text().size() / 4 + pieces.size() / 2);
  for (const Piece& piece : pieces) {
    if (const Status done = tokenize_piece(piece); !done) return done;
    if (const Status plain = check_plain(piece); !plain) return plain;
    add_tokens(piece);
  }
  return {};
}

// Makes scratch_.tokens those of the piece.
Status TextEncoder::tokenize_piece(const Piece& piece) {
  std::vector<Token>& tokens = scratch_.tokens;
  tokens.clear();
  if (piece.token) {
    tokens.push_back({*piece.token, 0, piece.end - piece.begin});
    return {};
  }
  const std::string_view text = scratch_.pieces.text_of(piece);
  if (text.size() > WordCache::kMaxPieceBytes) return stages_.model->tokenize(text, tokens);
  if (const auto known = scratch_.cache.find(text)) {
    tokens.insert(tokens.end(), known->begin(), known->end());
    return {};
  }
  if (const Status done = stages_.model->tokenize(text, tokens); !done) return done;
  scratch_.cache.put(text, tokens);
  return {};
}

// Refuses a token that the model makes of plain text which spells it.
Status TextEncoder::check_plain(const Piece& piece) const {
  if (plain_.empty() || piece.token) return {};
  const std::string_view text = scratch_.pieces.text_of(piece);
  for (const Token& token : scratch_.tokens) {
    const AddedToken* const added = plain_.concerns(token.id) ? added_.token(token.id) : nullptr;
    if (added == nullptr) continue;
    const std::string_view spelled = text.substr(token.begin, token.end - token.begin);
    const std::string& content = added->content;
    const auto alignment =
        scratch_.pieces.alignment().subspan(piece.begin + token.begin, token.end - token.begin);
    if (spelled != content || plain_.overlap(alignment) == PlainRanges::Overlap::kNone) continue;
    return Error{ErrorCode::kContract,
                 "the text has the token '" + content +
                     "', which cannot be plain text: the tokenizer makes that token of it"};
  }
  return {};
}

void TextEncoder::add_tokens(const Piece& piece) {
  std::size_t size = encoding_.ids.size();
  encoding_.ids.resize(size + scratch_.tokens.size());
  for (const Token& token : scratch_.tokens) encoding_.ids[size++] = token.id;
  if (!options_.offsets) return;
  const std::span<const TextRange> alignment = scratch_.pieces.alignment();
  for (const Token& token : scratch_.tokens) {
    const std::uint32_t begin = piece.begin + token.begin;
    const std::uint32_t end = piece.begin + token.end;
    if (begin < end) {
      encoding_.offsets.push_back({alignment[begin].begin, alignment[end - 1].end});
    } else {
      encoding_.offsets.push_back({});
    }
  }
}

}  // namespace polystate::tokenizer
