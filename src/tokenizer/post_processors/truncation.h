#pragma once

#include <cstddef>
#include <cstdint>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/post_processors/direction.h"

namespace polystate::tokenizer {

enum class TruncationStrategy : std::uint8_t { kLongestFirst, kOnlyFirst, kOnlySecond };

struct Truncation {
  std::size_t max_length = 512;  // tokens, with those that the post-processor adds
  std::size_t stride = 0;        // tokens that each overflowing part shares with the one before
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  Direction direction = Direction::kRight;  // the end that is cut
};

// Cuts one encoding, or a pair (`second` not null), to `max_length` tokens together. kContract when
// the strategy forbids to cut enough.
Status truncate(const Truncation& truncation, std::size_t max_length, Encoding& first,
                Encoding* second);

}  // namespace polystate::tokenizer
