#include "tokenizer/models/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/hash.h"

namespace polystate::tokenizer {

void Vocabulary::reserve(std::size_t tokens, std::size_t bytes) {
  tokens = std::min<std::size_t>(tokens, kMaxId + 1);
  bytes_.reserve(bytes);
  entries_.reserve(tokens);
  entry_of_id_.reserve(tokens);
  grow(std::bit_ceil(2 * tokens + 2));
}

std::size_t Vocabulary::slot_of(std::string_view token, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].entry != 0 &&
         (slots_[slot].hash != hash || token_of(entries_[slots_[slot].entry - 1]) != token)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void Vocabulary::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& moved : old) {
    if (moved.entry == 0) continue;
    std::size_t slot = moved.hash & (slots - 1);
    while (slots_[slot].entry != 0) slot = (slot + 1) & (slots - 1);
    slots_[slot] = moved;
  }
}

Status Vocabulary::add(std::string_view token, TokenId id) {
  if (id > kMaxId) {
    return Error{ErrorCode::kArtifact, "the token '" + std::string(token) + "' has the id " +
                                           std::to_string(id) + "; the limit is " +
                                           std::to_string(kMaxId)};
  }
  if (2 * (entries_.size() + 1) > slots_.size()) grow(slots_.empty() ? 64 : 2 * slots_.size());
  const auto hash = static_cast<std::uint32_t>(hash_bytes(token));
  const std::size_t slot = slot_of(token, hash);
  if (slots_[slot].entry == 0) {
    entries_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(token.size()), id});
    bytes_ += token;
    slots_[slot] = {hash, static_cast<std::uint32_t>(entries_.size())};
  } else {
    entries_[slots_[slot].entry - 1].id = id;
  }
  if (id >= entry_of_id_.size()) entry_of_id_.resize(std::size_t{id} + 1);
  entry_of_id_[id] = slots_[slot].entry;
  return {};
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const std::size_t slot = slot_of(token, static_cast<std::uint32_t>(hash_bytes(token)));
  if (slots_[slot].entry == 0) return std::nullopt;
  return entries_[slots_[slot].entry - 1].id;
}

std::optional<std::string_view> Vocabulary::token(TokenId id) const {
  if (id >= entry_of_id_.size() || entry_of_id_[id] == 0) return std::nullopt;
  return token_of(entries_[entry_of_id_[id] - 1]);
}

}  // namespace polystate::tokenizer
