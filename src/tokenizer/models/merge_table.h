#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/models/hash.h"
#include "tokenizer/models/model.h"

namespace polystate::tokenizer {

// Which pairs of symbols byte pair encoding joins, in which order, and to what.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;    // lower ones are joined first
    std::uint32_t symbol;  // what the pair becomes
  };
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

  void reserve(std::size_t merges) { grow(std::bit_ceil(2 * merges + 2)); }

  // A pair that is there already gets the new rank and symbol.
  void add(std::uint32_t left, std::uint32_t right, Merge merge) {
    if (2 * (size_ + 1) > slots_.size()) grow(slots_.empty() ? 64 : 2 * slots_.size());
    Slot& slot = slots_[slot_of(left, right)];
    if (slot.merge.rank == kNoRank) ++size_;
    slot = {left, right, merge};
  }

  // The merge of a pair; its rank is kNoRank where there is none.
  [[nodiscard]] Merge find(std::uint32_t left, std::uint32_t right) const {
    return slots_[slot_of(left, right)].merge;
  }

 private:
  struct Slot {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    Merge merge = {kNoRank, 0};
  };

  [[nodiscard]] std::size_t slot_of(std::uint32_t left, std::uint32_t right) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = mix(left, right) & mask;
    while (slots_[slot].merge.rank != kNoRank &&
           (slots_[slot].left != left || slots_[slot].right != right)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void grow(std::size_t slots) {
    if (slots <= slots_.size()) return;
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.merge.rank != kNoRank) slots_[slot_of(slot.left, slot.right)] = slot;
    }
  }

  std::size_t size_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(2);  // open addressing, at most half full
};

// The id of a token that no pair has: one that no vocabulary gives.
inline constexpr std::uint32_t kNoSymbol = ~std::uint32_t{0};

// Joins pairs of neighbours among tokens[first] and what follows, lowest rank first and of equal
// ranks the leftmost, until none is left (R. Sennrich et al. 2016, "Neural Machine Translation of
// Rare Words with Subword Units"). Time is n log n in the number of tokens; memory is theirs, and 8
// bytes for each pair that may be joined.
void merge_tokens(const MergeTable& merges, std::size_t first, std::vector<Token>& tokens);

}  // namespace polystate::tokenizer
