#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace polystate::grammar {

inline constexpr std::size_t kMaskBits = 32;  // of a word of a mask

// Gives -inf to the scores of all tokens but those whose bits are set in a mask. Tokens behind the
// end of the mask have none. Returns whether any score is left.
bool forbid_others(std::span<const std::int32_t> mask, std::span<float> scores);

}  // namespace polystate::grammar
