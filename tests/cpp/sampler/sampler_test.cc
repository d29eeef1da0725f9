#include "polystate/sampler/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "sampler/configuring.h"
#include "sampler/random.h"

namespace polystate {
namespace {

std::shared_ptr<const Sampler> multinomial() {
  GenerationConfig config;
  config.do_sample = true;
  return make_sampler(config);
}

Result<TokenId> sampled(const Sampler& sampler, std::vector<float> scores,
                        const SamplePlace& place = {1, 2, 3}) {
  return sampler.sample(scores, place);
}

TEST(GreedySampler, ItTakesTheFirstOfTheMostProbableTokens) {
  const auto greedy = make_sampler({});
  EXPECT_EQ(sampled(*greedy, {0.5F, 2.0F, -1.0F, 2.0F}).value(), 1U);
  EXPECT_EQ(sampled(*greedy, {-kInfinity, -3.0F}).value(), 1U);
}

TEST(Samplers, NaNAndNoTokenAreErrors) {
  for (const auto& sampler : {make_sampler({}), multinomial()}) {
    EXPECT_EQ(sampled(*sampler, {1.0F, kNaN, 2.0F}).error().code, ErrorCode::kContract);
    EXPECT_EQ(sampled(*sampler, {-kInfinity, -kInfinity}).error().code, ErrorCode::kContract);
    EXPECT_EQ(sampled(*sampler, {}).error().code, ErrorCode::kContract);
  }
  EXPECT_EQ(sampled(*multinomial(), {1.0F, kInfinity}).error().code, ErrorCode::kContract);
}

TEST(MultinomialSampler, EqualPlacesGiveEqualTokensAndOthersDiffer) {
  const auto sampler = multinomial();
  const std::vector<float> flat(50000, 0.0F);
  const TokenId token = sampled(*sampler, flat, {5, 6, 7}).value();
  EXPECT_EQ(sampled(*sampler, flat, {5, 6, 7}).value(), token);
  EXPECT_NE(sampled(*sampler, flat, {4, 6, 7}).value(), token);
  EXPECT_NE(sampled(*sampler, flat, {5, 5, 7}).value(), token);
  EXPECT_NE(sampled(*sampler, flat, {5, 6, 8}).value(), token);
}

TEST(MultinomialSampler, ATokenWithoutProbabilityIsNeverChosen) {
  const auto sampler = multinomial();
  std::vector<float> scores(300, -kInfinity);
  scores[70] = 1.0F;
  scores[299] = 1.0F;
  std::set<TokenId> chosen;
  for (std::uint64_t step = 0; step < 200; ++step)
    chosen.insert(sampled(*sampler, scores, {1, 0, step}).value());
  EXPECT_EQ(chosen, (std::set<TokenId>{70, 299}));
}

// The sum of (observed - expected)^2 / expected over tokens that have the weights e^score.
double chi_square(const Sampler& sampler, const std::vector<float>& scores, std::uint64_t count) {
  std::vector<double> weights;
  double total = 0.0;
  for (const float score : scores) {
    weights.push_back(std::exp(static_cast<double>(score)));
    total += weights.back();
  }
  std::vector<double> observed(scores.size());
  for (std::uint64_t step = 0; step < count; ++step)
    observed[sampled(sampler, scores, {42, step % 7, step}).value()] += 1.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double expected = weights[i] / total * static_cast<double>(count);
    sum += (observed[i] - expected) * (observed[i] - expected) / expected;
  }
  return sum;
}

TEST(MultinomialSampler, TokensAreChosenByTheirProbability) {
  const auto sampler = multinomial();
  // Limits that chi-square passes once in 1000: 4 and 199 degrees of freedom.
  EXPECT_LT(chi_square(*sampler, {0.0F, 1.0F, -1.0F, 0.5F, 2.0F}, 50000), 18.5);
  std::vector<float> many(200);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i % 13) * 0.1F;
  EXPECT_LT(chi_square(*sampler, many, 100000), 266.0);
}

TEST(Uniform, NumbersAreEvenAndDoNotRepeatAlongAnyAxis) {
  constexpr std::uint64_t kCount = 20000;
  std::set<double> numbers;
  std::array<int, 16> tenths{};
  const auto add = [&](const SamplePlace& place, std::uint64_t draw) {
    const double number = sampler::uniform(place, draw);
    EXPECT_GE(number, 0.0);
    EXPECT_LT(number, 1.0);
    numbers.insert(number);
    ++tenths[static_cast<std::size_t>(number * 16)];
  };
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    add({i, 0, 0}, 0);
    add({0, i, 0}, 0);
    add({0, 0, i}, 0);
    add({0, 0, 0}, i);
  }
  EXPECT_EQ(numbers.size(), 4 * kCount);
  for (const int count : tenths) EXPECT_NEAR(count, 5000, 300);
}

}  // namespace
}  // namespace polystate
