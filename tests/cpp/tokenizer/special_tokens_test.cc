// What becomes of special tokens in texts and in ids.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/decoders/sentence_piece.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/sentence_piece.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/model.h"
#include "tokenizer/sample_files.h"
#include "tokenizer/use_tokenizer.h"

namespace polystate {
namespace {

constexpr TokenId kEnd = 300;  // of "</s>"

Result<Encoding> encode(SpecialTokenPolicy policy) {
  return open_sample("TikToken")->encode("l</s>l", {.special_tokens = policy});
}

TEST(SpecialTokens, AcceptedOnesBecomeTokens) {
  EXPECT_EQ(encode(SpecialTokenPolicy::kAccept).value().ids,
            (std::vector<TokenId>{'l', kEnd, 'l'}));
}

TEST(SpecialTokens, AsPlainTextTheyAreTextLikeAnyOther) {
  EXPECT_EQ(encode(SpecialTokenPolicy::kPlainText).value().ids,
            (std::vector<TokenId>{'l', '<', '/', 's', '>', 'l'}));
}

TEST(SpecialTokens, RefusedOnesAreNamedWithTheirPosition) {
  const Result<Encoding> encoding = encode(SpecialTokenPolicy::kRefuse);
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().code, ErrorCode::kContract);
  EXPECT_EQ(encoding.error().message, "the text has the special token '</s>', at byte 1");
}

TEST(SpecialTokens, DecodingLeavesThemOutUnlessTheyAreAskedFor) {
  const auto tokenizer = open_sample("TikToken");
  const std::vector<TokenId> ids = {'l', kEnd};
  EXPECT_EQ(tokenizer->decode(ids).value(), "l");
  EXPECT_EQ(tokenizer->decode(ids, {.skip_special_tokens = false}).value(), "l</s>");
}

TEST(SpecialTokens, AreKnownByIdAndByText) {
  const auto tokenizer = open_sample("TikToken");
  EXPECT_TRUE(tokenizer->is_special(kEnd));
  EXPECT_FALSE(tokenizer->is_special('l'));
  EXPECT_FALSE(tokenizer->is_special(kEnd + 1));
  EXPECT_EQ(tokenizer->token_to_id("</s>"), kEnd);
  EXPECT_EQ(tokenizer->id_to_token(kEnd), "</s>");
  EXPECT_EQ(tokenizer->vocabulary_size(), kEnd + 1);
}

TEST(SpecialTokens, WhatThePostProcessorAddsIsMarkedAndCanBeLeftOut) {
  const auto tokenizer = open_sample("WordPiece");
  const Encoding with = tokenizer->encode("hello").value();
  EXPECT_EQ(with.ids, (std::vector<TokenId>{1, 2, 3, 1}));
  EXPECT_EQ(with.special_tokens_mask, (std::vector<std::uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(tokenizer->encode("hello", {.add_special_tokens = false})->ids,
            (std::vector<TokenId>{2, 3}));
}

// A model as SentencePiece's may be: pieces that are known by their ids alone, and some with the
// same texts behind them.
tokenizer::SentencePieceModel with_twins(tokenizer::SentencePieceModel::Algorithm algorithm) {
  using Type = tokenizer::SentencePieceModel::Type;
  tokenizer::SentencePieceModel model;
  model.algorithm = algorithm;
  model.byte_fallback = true;
  model.pieces = {{"<unk>", 0, Type::kUnknown}, {"<s>", 0, Type::kControl}};
  for (unsigned byte = 0; byte < 256; ++byte)
    model.pieces.push_back(
        {tokenizer::byte_token(static_cast<unsigned char>(byte)), 0, Type::kByte});
  for (const std::string& twin : {std::string("<s>"), tokenizer::byte_token('A')})
    model.pieces.push_back({twin, -1, Type::kNormal});
  return model;
}

TEST(SpecialTokens, OfPiecesThatHaveOneTextTheReservedOneIsKnownByIt) {
  constexpr TokenId kByteA = 2 + 'A';
  using enum tokenizer::SentencePieceModel::Algorithm;
  for (const auto algorithm : {kUnigram, kBpe, kWord, kChar}) {
    const auto model = tokenizer::make_model(with_twins(algorithm)).value();
    EXPECT_EQ(model->vocabulary().find("<s>"), 1U);
    EXPECT_EQ(model->vocabulary().find(tokenizer::byte_token('A')), kByteA);
    std::vector<tokenizer::Token> tokens;
    ASSERT_TRUE(model->tokenize("A", tokens));
    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_EQ(tokens[0].id, kByteA);
  }
}

TEST(SpecialTokens, ThatSpellAByteAreByteOrTextByTheirType) {
  using Type = tokenizer::SentencePieceModel::Type;
  using enum tokenizer::SentencePieceModel::Algorithm;
  const std::string text = tokenizer::byte_token('A');
  for (const auto algorithm : {kUnigram, kBpe, kChar}) {
    tokenizer::SentencePieceModel pieces = with_twins(algorithm);
    pieces.pieces.back().type = Type::kUserDefined;
    const auto id = static_cast<TokenId>(pieces.pieces.size() - 1);
    const auto model = tokenizer::make_model(pieces).value();
    std::vector<tokenizer::Token> tokens;
    ASSERT_TRUE(model->tokenize(text, tokens));
    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_EQ(tokens[0].id, id);
    EXPECT_EQ(tokenizer::decoded_piece(pieces, pieces.pieces[id]),
              tokenizer::tagged(tokenizer::SentencePieceKind::kPiece, text));
    EXPECT_EQ(tokenizer::decoded_piece(pieces, pieces.pieces[2 + 'A']),
              tokenizer::tagged(tokenizer::SentencePieceKind::kByte, "A"));
  }
}

TEST(SpecialTokens, OfNumberedPiecesThatHaveOneTextTheReservedOneIsDecoded) {
  // A normal piece "<0x41>" of score -1, as the file has it, before the byte of that text.
  const std::string twin =
      std::string("\x0A\x0F\x0A\x06<0x41>\x15", 11) + std::string("\x00\x00\x80\xBF\x18\x01", 6);
  tokenizer::MarianFiles files = sample_marian_files("SentencePieceUnigram");
  files.encoder = twin + files.encoder;
  files.decoder = twin + files.decoder;
  files.vocabulary = R"({"</s>":0,"<unk>":1,"<pad>":2,"<0x41>":3})";
  const auto opened = open_files(files);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->decode(std::vector<TokenId>{3}).value(), "A");
}

TEST(SpecialTokens, APolicyHasAName) {
  EXPECT_EQ(special_token_policy("plain_text").value(), SpecialTokenPolicy::kPlainText);
  EXPECT_EQ(special_token_policy("none").error().code, ErrorCode::kContract);
}

}  // namespace
}  // namespace polystate
