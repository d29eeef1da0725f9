// Whose arithmetic decides between segmentations that are nearly as good.

#include "tokenizer/models/unigram.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {
namespace {

constexpr TokenId kPrefix = 1;
constexpr TokenId kOne = 2;
constexpr TokenId kTwo = 3;

std::vector<TokenId> ids_of(std::string_view piece, float prefix_score, bool single_precision) {
  Vocabulary vocabulary;
  TokenId next = 0;
  for (const std::string_view token : {"<unk>", "'", "l", "ll"}) {
    EXPECT_TRUE(vocabulary.add(token, next++));
  }
  UnigramOptions options;
  options.unknown = 0;
  options.unknown_score = -100;
  options.single_precision = single_precision;
  const auto model = Unigram::create(std::move(vocabulary),
                                     {{0.0F, false}, {prefix_score}, {-5.5F}, {-5.9F}}, options)
                         .value();
  std::vector<Token> tokens;
  EXPECT_TRUE(model->tokenize(piece, tokens));
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const Token& token : tokens) ids.push_back(token.id);
  return ids;
}

TEST(Unigram, OfSegmentationsThatAreEquallyGoodTheFirstThatWasFoundCounts) {
  EXPECT_EQ(ids_of("lll", 0, false), (std::vector<TokenId>{kOne, kTwo}));
}

TEST(Unigram, InSinglePrecisionSumsAreComparedAsTheyAreKept) {
  // As floats both sums are the same; before it is rounded, that of ', ll, l is the greater one.
  EXPECT_EQ(ids_of("'lll", -0.2F, true), (std::vector<TokenId>{kPrefix, kOne, kTwo}));
}

}  // namespace
}  // namespace polystate::tokenizer
