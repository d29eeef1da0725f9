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
  by_id_.reserve(tokens);
  grow(std::bit_ceil(2 * tokens + 2));
}

std::size_t Vocabulary::slot_of(std::string_view token, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].place.begin != kNone &&
         (slots_[slot].hash != hash || token_at(slots_[slot].place) != token)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void Vocabulary::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& moved : old) {
    if (moved.place.begin == kNone) continue;
    std::size_t slot = moved.hash & (slots - 1);
    while (slots_[slot].place.begin != kNone) slot = (slot + 1) & (slots - 1);
    slots_[slot] = moved;
  }
}

Status Vocabulary::add(std::string_view token, TokenId id) {
  if (id > kMaxId) {
    return Error{ErrorCode::kArtifact, "the token '" + std::string(token) + "' has the id " +
                                           std::to_string(id) + "; the limit is " +
                                           std::to_string(kMaxId)};
  }
  if (2 * (size_ + 1) > slots_.size()) grow(slots_.empty() ? 64 : 2 * slots_.size());
  const auto hash = static_cast<std::uint32_t>(hash_bytes(token));
  Slot& slot = slots_[slot_of(token, hash)];
  if (slot.place.begin == kNone) {
    const Place place = {static_cast<std::uint32_t>(bytes_.size()),
                         static_cast<std::uint32_t>(token.size())};
    bytes_ += token;
    slot = {place, hash, id};
    ++size_;
  } else {
    slot.id = id;
  }
  if (id >= by_id_.size()) by_id_.resize(std::size_t{id} + 1);
  by_id_[id] = slot.place;
  return {};
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(token, static_cast<std::uint32_t>(hash_bytes(token)))];
  if (slot.place.begin == kNone) return std::nullopt;
  return slot.id;
}

std::optional<std::string_view> Vocabulary::token(TokenId id) const {
  if (id >= by_id_.size() || by_id_[id].begin == kNone) return std::nullopt;
  return token_at(by_id_[id]);
}

}  // namespace polystate::tokenizer
