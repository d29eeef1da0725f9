#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace polystate::sampler {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Loops over scores have blocks of this many, a constant that the compiler can vectorise.
constexpr std::size_t kBlock = 32;
using ScoreBlock = std::array<float, kBlock>;

// The scores from `start` on, and -inf behind the last one.
inline ScoreBlock score_block(std::span<const float> scores, std::size_t start) {
  const auto rest = scores.subspan(start);
  ScoreBlock block{};
  if (rest.size() >= kBlock) {
    std::copy_n(rest.begin(), kBlock, block.begin());
  } else {
    block.fill(-kInfinity);
    std::copy(rest.begin(), rest.end(), block.begin());
  }
  return block;
}

// Calls `take` with where each block of scores begins; the last one has -inf behind the last score.
template <typename Take>
[[gnu::always_inline]] inline void for_each_block(std::span<const float> scores, Take take) {
  std::size_t start = 0;
  for (; start + kBlock <= scores.size(); start += kBlock) take(scores.data() + start);
  if (start < scores.size()) take(score_block(scores, start).data());
}

}  // namespace polystate::sampler
