#include "tokenizer/models/word_cache.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tokenizer/models/hash.h"
#include "tokenizer/models/model.h"

namespace polystate::tokenizer {

void WordCache::put(std::string_view piece, std::span<const Token> tokens) {
  if (tokens.size() > kMaxTokens) return;
  if (slots_.empty() || entries_.size() == kMaxEntries) {
    slots_.assign(kSlots, {});
    entries_.clear();
    bytes_.clear();
    tokens_.clear();
  }
  const auto hash = static_cast<std::uint32_t>(hash_bytes(piece));
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Slot& slot = slots_[(hash + probe) & (kSlots - 1)];
    if (slot.entry != 0) continue;
    entries_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(tokens_.size()),
         static_cast<std::uint16_t>(piece.size()), static_cast<std::uint16_t>(tokens.size())});
    bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    slot = {hash, static_cast<std::uint32_t>(entries_.size())};
    return;
  }
}

}  // namespace polystate::tokenizer
