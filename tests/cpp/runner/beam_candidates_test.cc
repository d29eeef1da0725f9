#include "runner/search/beam_candidates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "polystate/core/token.h"

namespace polystate {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

using Choices = std::vector<std::pair<std::size_t, TokenId>>;

Choices choices(const std::vector<BeamCandidate>& candidates) {
  Choices all;
  for (const BeamCandidate& each : candidates) all.emplace_back(each.beam, each.token);
  return all;
}

TEST(BestCandidates, AreOrderedByProbabilityThenBeamThenToken) {
  const std::vector<float> tokens = {-1, -3, -1, -2, -4, -1};
  const std::vector<float> beams = {-1, -1};
  const auto best = best_candidates({tokens, 2, beams}, 4);
  EXPECT_EQ(choices(best), (Choices{{0, 0}, {0, 2}, {1, 2}, {1, 0}}));
  EXPECT_EQ(best[3].log_probability, -3);
}

TEST(BestCandidates, OfOneRowSeeTheOtherBeamsOnlyWhenItHasNoMore) {
  const std::vector<float> tokens = {-1, kNever, -2};
  const std::vector<float> beams = {0, -1e9F};
  EXPECT_EQ(choices(best_candidates({tokens, 1, beams}, 3)), (Choices{{0, 0}, {0, 2}, {1, 0}}));
}

TEST(BestCandidates, AreAllWhereThereAreFewer) {
  const std::vector<float> tokens = {-1, -2};
  const std::vector<float> beams = {0};
  EXPECT_EQ(best_candidates({tokens, 1, beams}, 5).size(), 2U);
}

TEST(DrawnCandidates, HaveTheFrequenciesOfDrawsWithoutReplacement) {
  const std::array<double, 4> probabilities = {0.5, 0.3, 0.2, 0.0};
  const std::vector<float> tokens = {std::log(0.5F), std::log(0.3F), std::log(0.2F), kNever};
  const std::vector<float> beams = {0};
  constexpr int kDraws = 20000;
  std::array<int, 4> first{};
  int first_then_second = 0;  // token 0, then token 1
  for (std::uint64_t step = 0; step < kDraws; ++step) {
    const auto drawn =
        drawn_candidates({tokens, 1, beams}, 3, {.seed = 3, .sequence = 7, .step = step});
    ASSERT_EQ(drawn.size(), 3U);
    EXPECT_EQ((std::set{drawn[0].token, drawn[1].token, drawn[2].token}),
              (std::set<TokenId>{0, 1, 2}));
    ++first[drawn[0].token];
    if (drawn[0].token == 0 && drawn[1].token == 1) ++first_then_second;
    EXPECT_EQ(drawn[0].log_probability, tokens[drawn[0].token]);
  }
  for (std::size_t token = 0; token < first.size(); ++token) {
    EXPECT_NEAR(first[token], kDraws * probabilities[token], 300) << "token " << token;
  }
  EXPECT_NEAR(first_then_second, kDraws * 0.5 * 0.3 / 0.5, 300);
}

}  // namespace
}  // namespace polystate
