#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

// What happens to encodings after tokenization.
namespace polystate::tokenizer {

enum class Direction : std::uint8_t { kLeft, kRight };

// Appends `other`; what overflows of either is combined with all of the other, as the `tokenizers`
// library does it.
void append_encoding(Encoding& encoding, const Encoding& other);

// Appends a token that the post-processor adds.
void append_special_token(Encoding& encoding, TokenId id, std::uint32_t type_id, bool offsets);

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

struct Padding {
  std::optional<std::size_t> fixed_length;  // none: as long as the longest of a batch
  std::size_t multiple_of = 1;
  Direction direction = Direction::kRight;  // the end that it is put at
  TokenId id = 0;
  std::uint32_t type_id = 0;
};

// The length that encodings of up to `longest` tokens are padded to.
std::size_t padded_length(const Padding& padding, std::size_t longest);

// Pads an encoding, and what overflows of it, to `length` tokens. `offsets`: those as well.
void pad(const Padding& padding, std::size_t length, bool offsets, Encoding& encoding);

}  // namespace polystate::tokenizer
