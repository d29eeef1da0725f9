#include "grammar/token_mask.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/instruction_set.h"
#include "core/vectorised.h"

namespace polystate::grammar {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();
constexpr std::uint32_t kAllBits = ~0U;

// Of the tokens of one word of a mask.
std::uint32_t forbid_in_word(std::uint32_t bits, std::span<float> scores) {
  std::uint32_t is_any_left = 0;
  for (std::uint32_t i = 0; i < scores.size(); ++i) {
    const float score = (bits >> i & 1U) == 0 ? kForbidden : scores[i];
    scores[i] = score;
    is_any_left |= score == kForbidden ? 0U : 1U;
  }
  return is_any_left;
}

bool forbid(std::span<const std::int32_t> mask, std::span<float> scores) {
  std::uint32_t is_any_left = 0;
  const std::size_t words = std::min(mask.size(), scores.size() / kMaskBits);
  for (std::size_t word = 0; word < words; ++word) {
    const std::span<float, kMaskBits> of_word(scores.data() + word * kMaskBits, kMaskBits);
    const auto bits = static_cast<std::uint32_t>(mask[word]);
    if (bits == 0) {
      std::ranges::fill(of_word, kForbidden);
    } else if (bits != kAllBits || is_any_left == 0) {
      is_any_left |= forbid_in_word(bits, of_word);
    }
  }
  std::span<float> rest = scores.subspan(words * kMaskBits);
  if (words < mask.size() && !rest.empty()) {
    const std::span<float> of_word = rest.first(std::min(kMaskBits, rest.size()));
    is_any_left |= forbid_in_word(static_cast<std::uint32_t>(mask[words]), of_word);
    rest = rest.subspan(of_word.size());
  }
  std::ranges::fill(rest, kForbidden);
  return is_any_left != 0;
}

}  // namespace

bool forbid_others(std::span<const std::int32_t> mask, std::span<float> scores) {
  return vectorised<forbid>(best_instruction_set())(mask, scores);
}

}  // namespace polystate::grammar
