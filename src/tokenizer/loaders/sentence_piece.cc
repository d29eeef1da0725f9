#include "tokenizer/loaders/sentence_piece.h"

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/decoders/sentence_piece.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/sentence_piece_bpe.h"
#include "tokenizer/models/sentence_piece_word.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/sentence_piece.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

using Type = SentencePieceModel::Type;
using Algorithm = SentencePieceModel::Algorithm;

// All pieces. Where two have the same text, it is the id of the one that is known by its id alone:
// SentencePiece looks among those first, and takes the bytes of unknown characters from there.
Result<Vocabulary> make_vocabulary(const SentencePieceModel& model) {
  Vocabulary vocabulary;
  std::size_t bytes = 0;
  for (const SentencePieceModel::Piece& piece : model.pieces) bytes += piece.text.size();
  vocabulary.reserve(model.pieces.size(), bytes);
  for (const bool is_text : {true, false}) {  // the last one that is added counts
    for (TokenId id = 0; id < model.pieces.size(); ++id) {
      const SentencePieceModel::Piece& piece = model.pieces[id];
      if (SentencePieceModel::is_text(piece.type) != is_text) continue;
      if (const Status added = vocabulary.add(piece.text, id); !added) return added.error();
    }
  }
  return vocabulary;
}

// SentencePiece 0.2.3's constants: the score of unknown characters is the least one minus 10; that
// of a user-defined symbol is 0.1 for each byte but one.
constexpr float kUnknownPenalty = 10;
constexpr double kUserDefinedScore = 0.1;

Result<std::unique_ptr<Unigram>> make_unigram(const SentencePieceModel& model,
                                              Vocabulary vocabulary) {
  float least = FLT_MAX;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type == Type::kNormal) least = std::min(least, piece.score);
  }
  std::vector<UnigramToken> tokens;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    const bool user_defined = piece.type == Type::kUserDefined;
    tokens.push_back({user_defined ? kUserDefinedScore : piece.score,
                      user_defined || piece.type == Type::kNormal, user_defined});
  }
  UnigramOptions options;
  options.unknown = static_cast<TokenId>(model.unknown);
  options.byte_fallback = model.byte_fallback;
  options.unknown_score = least - kUnknownPenalty;
  options.single_precision = true;
  return Unigram::create(std::move(vocabulary), std::move(tokens), options);
}

Result<std::unique_ptr<SentencePieceBpe>> make_bpe(const SentencePieceModel& model,
                                                   Vocabulary vocabulary) {
  std::vector<BpePiece> pieces;
  for (TokenId id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (piece.type == Type::kUnused) {
      return Error{ErrorCode::kUnsupported, "piece " + std::to_string(id) +
                                                " is unused, which is not supported for byte pair "
                                                "encoding"};
    }
    if (SentencePieceModel::is_text(piece.type))
      pieces.push_back({id, piece.text, piece.score, piece.type == Type::kUserDefined});
  }
  SentencePieceBpeOptions options;
  options.unknown = static_cast<TokenId>(model.unknown);
  options.byte_fallback = model.byte_fallback;
  options.merges = model.algorithm == Algorithm::kBpe;
  return SentencePieceBpe::create(std::move(vocabulary), pieces, options);
}

std::unique_ptr<const Model> make_words(const SentencePieceModel& model, Vocabulary vocabulary) {
  std::vector<bool> is_word;
  is_word.reserve(model.pieces.size());
  for (const SentencePieceModel::Piece& piece : model.pieces)
    is_word.push_back(piece.type == Type::kNormal || piece.type == Type::kUserDefined);
  return std::make_unique<SentencePieceWord>(std::move(vocabulary), std::move(is_word),
                                             static_cast<TokenId>(model.unknown),
                                             model.byte_fallback);
}

template <typename T>
Result<std::unique_ptr<const Model>> as_model(Result<std::unique_ptr<T>> made) {
  if (!made) return made.error();
  return std::unique_ptr<const Model>(std::move(*made));
}

}  // namespace

Result<std::unique_ptr<const Normalizer>> make_normalizer(const SentencePieceModel& model) {
  std::optional<Charsmap> map;
  if (!model.precompiled_charsmap.empty()) {
    Result<Charsmap> parsed = Charsmap::parse(model.precompiled_charsmap);
    if (!parsed) return parsed.error();
    map = std::move(*parsed);
  }
  SentencePieceNormalizerOptions options;
  options.add_dummy_prefix = model.add_dummy_prefix;
  options.remove_extra_whitespaces = model.remove_extra_whitespaces;
  options.escape_whitespaces = model.escape_whitespaces;
  options.treat_whitespace_as_suffix = model.treat_whitespace_as_suffix;
  return std::unique_ptr<const Normalizer>(
      std::make_unique<SentencePieceNormalizer>(std::move(map), options, model.user_symbols()));
}

std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const SentencePieceModel& model) {
  if (model.algorithm != Algorithm::kBpe) return nullptr;
  bool known_marker = false;
  bool before = true;
  bool after = true;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (!SentencePieceModel::is_text(piece.type)) continue;
    const std::string_view text = piece.text;
    known_marker = known_marker || text == kSpaceMarker;
    for (std::size_t at = text.find(kSpaceMarker); at != std::string_view::npos;
         at = text.find(kSpaceMarker, at + 1)) {
      const std::string_view left = text.substr(0, at);
      const std::string_view right = text.substr(at + kSpaceMarker.size());
      if (!left.empty() && !left.ends_with(kSpaceMarker)) before = false;
      if (!right.empty() && !right.starts_with(kSpaceMarker)) after = false;
    }
  }
  if (!known_marker || (!before && !after)) return nullptr;
  return marker_split(std::string(kSpaceMarker), !before);
}

Result<std::unique_ptr<const Model>> make_model(const SentencePieceModel& model) {
  Result<Vocabulary> vocabulary = make_vocabulary(model);
  if (!vocabulary) return vocabulary.error();
  switch (model.algorithm) {
    case Algorithm::kUnigram:
      return as_model(make_unigram(model, std::move(*vocabulary)));
    case Algorithm::kWord:
      return make_words(model, std::move(*vocabulary));
    default:
      return as_model(make_bpe(model, std::move(*vocabulary)));
  }
}

std::string decoded_piece(const SentencePieceModel& model, const SentencePieceModel::Piece& piece) {
  switch (piece.type) {
    case Type::kControl:
      return tagged(SentencePieceKind::kSilent, "");
    case Type::kUnknown:
      return tagged(SentencePieceKind::kLiteral, model.unknown_surface);
    case Type::kByte: {
      const char byte = static_cast<char>(byte_of_token(piece.text).value_or(0));
      return tagged(SentencePieceKind::kByte, {&byte, 1});
    }
    default:
      return tagged(SentencePieceKind::kPiece, piece.text);
  }
}

SentencePieceDecoder::Options decoder_options(const SentencePieceModel& model) {
  return {model.add_dummy_prefix, model.remove_extra_whitespaces};
}

Result<Stages> parse_sentence_piece(std::string_view content) {
  const Result<SentencePieceModel> model = SentencePieceModel::parse(content);
  if (!model) return model.error();
  Stages stages;
  Result<std::unique_ptr<const Normalizer>> normalizer = make_normalizer(*model);
  if (!normalizer) return normalizer.error();
  stages.normalizer = std::move(*normalizer);
  stages.pre_tokenizer = make_pre_tokenizer(*model);
  Result<std::unique_ptr<const Model>> made = make_model(*model);
  if (!made) return made.error();
  stages.model = std::move(*made);
  stages.decoders.push_back(std::make_unique<SentencePieceDecoder>(decoder_options(*model)));
  std::vector<std::string> decoded;
  for (TokenId id = 0; id < model->pieces.size(); ++id) {
    decoded.push_back(decoded_piece(*model, model->pieces[id]));
    if (model->pieces[id].type == Type::kControl) stages.hidden_tokens.push_back(id);
  }
  stages.decoded_token = [decoded = std::move(decoded)](TokenId id, std::string_view) {
    return decoded[id];
  };
  return stages;
}

}  // namespace polystate::tokenizer
