#include "runner/context_slide.h"

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "polystate/core/token.h"

namespace polystate {

std::vector<TokenId> ContextSlide::seen(std::span<const TokenId> tokens) const {
  assert(kept + 2 <= positions && std::ssize(tokens) > positions);
  const auto first = tokens.first(static_cast<std::size_t>(kept));
  const auto last = tokens.last(static_cast<std::size_t>((positions - kept) / 2));
  std::vector<TokenId> seen(first.begin(), first.end());
  seen.insert(seen.end(), last.begin(), last.end());
  return seen;
}

}  // namespace polystate
