#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/models/hash.h"
#include "tokenizer/models/model.h"

namespace polystate::tokenizer {

// Remembers what a model made of short pieces. When it is full it forgets everything. For one
// thread at a time.
class WordCache {
 public:
  static constexpr std::size_t kMaxPieceBytes = 64;

  // The tokens of a piece, if they are known; valid until the next put.
  [[nodiscard]] std::optional<std::span<const Token>> find(std::string_view piece) const {
    if (slots_.empty()) return std::nullopt;
    const auto hash = static_cast<std::uint32_t>(hash_bytes(piece));
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      const Slot& slot = slots_[(hash + probe) & (kSlots - 1)];
      if (slot.entry == 0) return std::nullopt;
      if (slot.hash != hash) continue;
      const Entry& entry = entries_[slot.entry - 1];
      if (std::string_view(bytes_.data() + entry.bytes, entry.size) == piece)
        return std::span(tokens_).subspan(entry.tokens, entry.count);
    }
    return std::nullopt;
  }

  // `piece` has at most kMaxPieceBytes. One of very many tokens is not remembered.
  void put(std::string_view piece, std::span<const Token> tokens);

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 16U;
  static constexpr std::size_t kProbes = 4;
  static constexpr std::size_t kMaxEntries = kSlots / 2;
  static constexpr std::size_t kMaxTokens = 1024;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;  // one more than the index; 0: free
  };
  struct Entry {
    std::uint32_t bytes;  // where its piece and its tokens start
    std::uint32_t tokens;
    std::uint16_t size;
    std::uint16_t count;
  };

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::vector<char> bytes_;
  std::vector<Token> tokens_;
};

}  // namespace polystate::tokenizer
