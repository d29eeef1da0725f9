#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/post_processors/direction.h"

namespace polystate::tokenizer {

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
