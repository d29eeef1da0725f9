// log_softmax, top_candidates and the like.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "sampler/configuring.h"
#include "sampler/exponential.h"
#include "sampler/largest.h"
#include "sampler/log_softmax.h"
#include "sampler/score_block.h"
#include "sampler/top_candidates.h"

namespace polystate::sampler {
namespace {

using testing::ElementsAre;

std::vector<float> random_scores(std::size_t size, unsigned seed, float width = 5.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, width);
  std::vector<float> scores(size);
  for (float& score : scores) score = normal(random);
  return scores;
}

TEST(Exponential, ItIsWithinTwoUnitsInTheLastPlace) {
  for (int i = 0; i < 65536; ++i) {
    const float x = static_cast<float>(i) * (-87.3F / 65536.0F);
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_LE(std::abs(static_cast<double>(exponential(x)) - exact), exact * 2.4e-7) << x;
  }
  EXPECT_EQ(exponential(0.0F), 1.0F);
  EXPECT_EQ(exponential(-88.0F), 0.0F);
  EXPECT_EQ(exponential(-kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(exponential(kNaN)));
}

TEST(Exponential, OfATermIsAsExactAsItsPartOfASum) {
  for (int i = 0; i < 65536; ++i) {
    const float x = static_cast<float>(i) * (-87.0F / 65536.0F);
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(static_cast<double>(exponential_term(x)), exact, 1.6e-7) << x;
    EXPECT_NEAR(static_cast<double>(exponential_term(x)) / exact, 1, 1e-5) << x;
  }
  EXPECT_EQ(exponential_term(0.0F), 1.0F);
  for (const float x : {-88.0F, -3e38F, -kInfinity}) EXPECT_LT(exponential_term(x), 1e-37F);
}

TEST(FindLargest, OfEqualScoresTheFirstCounts) {
  for (const std::size_t size : {1U, 63U, 64U, 65U, 200U}) {
    std::vector<float> scores(size, -1.0F);
    EXPECT_EQ(find_largest(scores)->token, 0U);
    for (std::size_t i = 0; i < size; ++i) {
      scores.assign(size, -1.0F);
      scores[i] = 2.0F;
      scores.back() = 2.0F;
      EXPECT_EQ(find_largest(scores)->token, i);
    }
  }
}

TEST(FindLargest, NaNAnywhereAndNoTokenAreErrors) {
  for (std::size_t i = 0; i < 130; ++i) {
    std::vector<float> scores(130, 1.0F);
    scores[i] = kNaN;
    EXPECT_EQ(find_largest(scores).error().code, ErrorCode::kContract) << i;
  }
  EXPECT_FALSE(find_largest(std::vector<float>(70, -kInfinity)));
  EXPECT_FALSE(find_largest({}));
}

TEST(LogSoftmax, ItEqualsTheSumInDouble) {
  for (const std::size_t size : {1U, 2U, 63U, 64U, 65U, 1000U, 60000U}) {
    std::vector<float> scores = random_scores(size, 7);
    const std::vector<float> logits = scores;
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    ASSERT_TRUE(log_softmax(scores));
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_NEAR(scores[i], static_cast<double>(logits[i]) - std::log(sum), 3e-6);
  }
}

TEST(LogSoftmax, ItsLargestScoreMayBeAnywhere) {
  for (const std::size_t place : {0U, 1023U, 1024U, 5000U, 9999U}) {
    std::vector<float> scores(10'000, -kInfinity);
    for (std::size_t i = 0; i < scores.size(); i += 7)
      scores[i] = -20.0F + static_cast<float>(i) / 500;
    scores[place] = 30.0F;
    double sum = 0.0;
    for (const float score : scores) sum += std::exp(static_cast<double>(score) - 30.0);
    const LogSum found = log_sum(scores).value();
    EXPECT_EQ(found.largest, 30.0F);
    EXPECT_NEAR(found.rest, std::log(sum), 1e-6);
  }
}

TEST(LogSoftmax, LargeScoresNeitherOverflowNorVanish) {
  std::vector<float> scores = {3e38F, 3e38F, -3e38F, -kInfinity};
  ASSERT_TRUE(log_softmax(scores));
  EXPECT_FLOAT_EQ(scores[0], -std::log(2.0F));
  EXPECT_EQ(scores[0], scores[1]);
  EXPECT_EQ(scores[3], -kInfinity);
}

TEST(LogSoftmax, WhatHasNoProbabilitiesIsAnErrorAndStays) {
  for (const std::vector<float>& invalid :
       {std::vector<float>{1.0F, kNaN}, {1.0F, kInfinity}, {-kInfinity, -kInfinity}, {}}) {
    std::vector<float> scores = invalid;
    EXPECT_EQ(log_softmax(scores).error().code, ErrorCode::kContract);
    EXPECT_TRUE(std::equal(scores.begin(), scores.end(), invalid.begin(), [](float a, float b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    }));
  }
}

TEST(LogSoftmax, EveryInstructionSetGivesTheSameBits) {
  for (const std::size_t size : {1U, 63U, 1000U, 60000U}) {
    const std::vector<float> logits = random_scores(size, 11);
    std::vector<float> expected = logits;
    ASSERT_TRUE(log_softmax(expected, InstructionSet::kScalar));
    for (const InstructionSet set : available_instruction_sets()) {
      std::vector<float> scores = logits;
      ASSERT_TRUE(log_softmax(scores, set));
      EXPECT_EQ(scores, expected) << size << " scores, instruction set " << static_cast<int>(set);
    }
  }
}

TEST(FindLargest, EveryInstructionSetFindsTheSame) {
  for (const std::size_t size : {1U, 63U, 64U, 65U, 5000U}) {
    const std::vector<float> scores = random_scores(size, 5);
    const auto largest = std::max_element(scores.begin(), scores.end());
    std::vector<float> with_nan = scores;
    with_nan[size / 2] = kNaN;
    for (const InstructionSet set : available_instruction_sets()) {
      EXPECT_EQ(find_largest(scores, set)->token, largest - scores.begin());
      EXPECT_FALSE(has_nan(scores, set));
      EXPECT_TRUE(has_nan(with_nan, set));
      EXPECT_TRUE(std::isnan(largest_score(with_nan, set)));
    }
  }
}

std::vector<TokenId> tokens_of(const std::vector<Candidate>& candidates) {
  std::vector<TokenId> tokens;
  tokens.reserve(candidates.size());
  for (const Candidate& candidate : candidates) tokens.push_back(candidate.token);
  return tokens;
}

TEST(TopCandidates, OfEqualScoresTheLowerTokenComesFirst) {
  EXPECT_THAT(tokens_of(top_candidates(std::vector<float>{1, 3, 2, 3, 3}, 3)),
              ElementsAre(1, 3, 4));
  EXPECT_THAT(tokens_of(top_candidates(std::vector<float>{1, 1, 1}, 2)), ElementsAre(0, 1));
  EXPECT_THAT(tokens_of(top_candidates(std::vector<float>{-kInfinity, -kInfinity, 1}, 2)),
              ElementsAre(2, 0));
  EXPECT_THAT(tokens_of(top_candidates(std::vector<float>{1, 2}, 5)), ElementsAre(1, 0));
  EXPECT_TRUE(top_candidates({}, 3).empty());
  EXPECT_TRUE(top_candidates(std::vector<float>{1}, 0).empty());
}

TEST(TopCandidates, TheyAreTheFirstOfAStableSort) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::vector<float> scores = random_scores(1 + seed * 37, seed);
    if (seed % 2 == 0) {
      for (float& score : scores) score = std::round(score);  // many equal ones
    }
    std::vector<TokenId> sorted(scores.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<TokenId>(i);
    std::sort(sorted.begin(), sorted.end(), [&](TokenId a, TokenId b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    for (const std::size_t count : {1U, 2U, 8U, 32U, 200U}) {
      const std::size_t size = std::min(count, scores.size());
      const std::vector<TokenId> best(sorted.begin(), sorted.begin() + std::ptrdiff_t(size));
      for (const InstructionSet set : available_instruction_sets()) {
        EXPECT_EQ(tokens_of(top_candidates(scores, count, set)), best);
      }
      EXPECT_EQ(nth_largest(scores, count), scores[best.back()]);
    }
  }
}

}  // namespace
}  // namespace polystate::sampler
