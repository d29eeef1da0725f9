#include "sampler/top_candidates.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "polystate/core/token.h"

namespace polystate::sampler {
namespace {

constexpr std::size_t kGroup = 32;  // scores that are compared with the threshold at once

// Puts a candidate behind those that are as good; the last one falls out.
void insert(std::vector<Candidate>& best, Candidate candidate) {
  std::size_t place = best.size() - 1;
  for (; place > 0 && best[place - 1].score < candidate.score; --place)
    best[place] = best[place - 1];
  best[place] = candidate;
}

// The first of the groups from `start` on that has a score above the threshold, or what is left.
std::size_t find_group_above(std::span<const float> scores, std::size_t start, float threshold) {
  for (; start + kGroup <= scores.size(); start += kGroup) {
    unsigned above = 0;
    for (std::size_t i = 0; i < kGroup; ++i) {
      above |= static_cast<unsigned>(scores[start + i] > threshold);
    }
    if (above != 0) break;
  }
  return start;
}

}  // namespace

std::vector<Candidate> top_candidates(std::span<const float> scores, std::size_t count,
                                      InstructionSet set) {
  count = std::min(count, scores.size());
  std::vector<Candidate> best;
  if (count == 0) return best;
  best.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    best.push_back({scores[i], static_cast<TokenId>(i)});
    insert(best, best.back());
  }
  const auto find_group = vectorised<find_group_above>(set);
  for (std::size_t i = count; i < scores.size();) {
    i = find_group(scores, i, best.back().score);
    for (const std::size_t end = std::min(i + kGroup, scores.size()); i < end; ++i) {
      if (scores[i] > best.back().score) insert(best, {scores[i], static_cast<TokenId>(i)});
    }
  }
  return best;
}

std::vector<std::size_t> top_places(std::span<const float> scores, std::size_t count) {
  assert(count > 0 && count <= scores.size());
  std::vector<std::size_t> places(scores.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto larger = [scores](std::size_t left, std::size_t right) {
    return scores[left] > scores[right];
  };
  // As topk_impl_loop of ATen's TopKImpl.h.
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
  if (count * 64 <= scores.size()) {
    std::partial_sort(places.begin(), end, places.end(), larger);
  } else {
    std::nth_element(places.begin(), end - 1, places.end(), larger);
    std::sort(places.begin(), end - 1, larger);
  }
  places.resize(count);
  return places;
}

float nth_largest(std::span<const float> scores, std::size_t count) {
  constexpr std::size_t kSmall = 128;
  count = std::min(count, scores.size());
  if (count <= kSmall) return top_candidates(scores, count).back().score;
  std::vector<float> sorted(scores.begin(), scores.end());
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(sorted.begin(), nth, sorted.end(), std::greater<>());
  return *nth;
}

}  // namespace polystate::sampler
