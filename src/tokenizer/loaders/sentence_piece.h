#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/decoders/sentence_piece.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

// Parts of a pipeline that do what a SentencePiece model says.
namespace polystate::tokenizer {

Result<std::unique_ptr<const Normalizer>> make_normalizer(const SentencePieceModel& model);
// A pre-tokenizer that saves time and changes no token; null where there is none.
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const SentencePieceModel& model);
Result<std::unique_ptr<const Model>> make_model(const SentencePieceModel& model);
// What SentencePieceDecoder is given for a piece.
std::string decoded_piece(const SentencePieceModel& model, const SentencePieceModel::Piece& piece);
SentencePieceDecoder::Options decoder_options(const SentencePieceModel& model);

}  // namespace polystate::tokenizer
