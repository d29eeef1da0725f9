#include "tokenizer/plain_ranges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

bool PlainRanges::concerns(TokenId id) const {
  return std::ranges::binary_search(parts_.tokens, id);
}

bool PlainRanges::has(std::uint32_t position) const {
  const auto range = std::ranges::upper_bound(parts_.ranges, position, {}, &TextRange::end);
  return range != parts_.ranges.end() && range->begin <= position;
}

PlainRanges::Overlap PlainRanges::overlap(std::span<const TextRange> alignment) const {
  std::size_t inside = 0;
  for (const TextRange& bytes : alignment) {
    if (has(bytes.begin)) ++inside;
  }
  if (inside == 0) return Overlap::kNone;
  return inside == alignment.size() ? Overlap::kAll : Overlap::kSome;
}

}  // namespace polystate::tokenizer
