#include "tokenizer/models/merge_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tokenizer/models/model.h"

namespace polystate::tokenizer {
namespace {

// Up to here, looking through all pairs for the next one is faster than a heap.
constexpr std::size_t kShort = 24;

// Each of these returns how many tokens are left, which are the first ones.
std::size_t merge_short(const MergeTable& merges, std::span<Token> tokens) {
  std::array<MergeTable::Merge, kShort> next;  // what tokens i and i + 1 become
  std::size_t size = tokens.size();
  const auto look_up = [&](std::size_t i) {
    next[i] = merges.find(tokens[i].id, tokens[i + 1].id);
  };
  for (std::size_t i = 0; i + 1 < size; ++i) look_up(i);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (next[i].rank < next[best].rank) best = i;
    }
    if (next[best].rank == MergeTable::kNoRank) break;
    tokens[best] = {next[best].symbol, tokens[best].begin, tokens[best + 1].end};
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      tokens[i] = tokens[i + 1];
      if (i + 1 < size) next[i] = next[i + 1];
    }
    if (best > 0) look_up(best - 1);
    if (best + 1 < size) look_up(best);
  }
  return size;
}

// Many tokens. One that is joined to another leaves a gap behind it, whose first and last places
// hold its length, so that neighbours are found from either side.
class LongMerge {
 public:
  LongMerge(const MergeTable& merges, std::span<Token> tokens) : merges_(merges), tokens_(tokens) {}

  std::size_t run() {
    for (std::uint32_t i = 0; i + 1 < tokens_.size(); ++i) {
      const std::uint32_t rank = rank_of(i, i + 1);
      if (rank != MergeTable::kNoRank) heap_.push_back(candidate(rank, i));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater());
      const std::uint64_t best = heap_.back();
      heap_.pop_back();
      join(static_cast<std::uint32_t>(best >> 32U), static_cast<std::uint32_t>(best));
    }
    const auto is_gap = [](const Token& token) { return token.begin == kGap; };
    return static_cast<std::size_t>(std::remove_if(tokens_.begin(), tokens_.end(), is_gap) -
                                    tokens_.begin());
  }

 private:
  static constexpr std::uint32_t kGap = ~std::uint32_t{0};  // as a token's begin

  // A pair that may be joined: the token at `left` and the next one, unless they changed since. The
  // smallest comes first.
  static std::uint64_t candidate(std::uint32_t rank, std::uint32_t left) {
    return std::uint64_t{rank} << 32U | left;
  }

  [[nodiscard]] std::uint32_t rank_of(std::uint32_t left, std::uint32_t right) const {
    return merges_.find(tokens_[left].id, tokens_[right].id).rank;
  }
  // The place after the token at `i` and its gap.
  [[nodiscard]] std::uint32_t next(std::uint32_t i) const {
    const bool has_gap = i + 1 < tokens_.size() && tokens_[i + 1].begin == kGap;
    return has_gap ? i + 1 + tokens_[i + 1].id : i + 1;
  }
  // The place of the token before the one at `i` > 0.
  [[nodiscard]] std::uint32_t previous(std::uint32_t i) const {
    return tokens_[i - 1].begin == kGap ? i - 1 - tokens_[i - 1].id : i - 1;
  }

  void consider(std::uint32_t left, std::uint32_t right) {
    const std::uint32_t rank = rank_of(left, right);
    if (rank == MergeTable::kNoRank) return;
    heap_.push_back(candidate(rank, left));
    std::push_heap(heap_.begin(), heap_.end(), std::greater());
  }

  void join(std::uint32_t rank, std::uint32_t left) {
    if (tokens_[left].begin == kGap) return;
    const std::uint32_t right = next(left);
    if (right == tokens_.size()) return;
    const MergeTable::Merge merge = merges_.find(tokens_[left].id, tokens_[right].id);
    if (merge.rank != rank) return;
    const std::uint32_t after = next(right);
    tokens_[left] = {merge.symbol, tokens_[left].begin, tokens_[right].end};
    tokens_[right].begin = kGap;
    const std::uint32_t length = after - left - 1;
    tokens_[left + 1].id = length;
    tokens_[after - 1].id = length;
    if (left > 0) consider(previous(left), left);
    if (after < tokens_.size()) consider(left, after);
  }

  const MergeTable& merges_;
  std::span<Token> tokens_;
  std::vector<std::uint64_t> heap_;
};

}  // namespace

void merge_tokens(const MergeTable& merges, std::size_t first, std::vector<Token>& tokens) {
  const std::span<Token> merged = std::span(tokens).subspan(first);
  const std::size_t left =
      merged.size() <= kShort ? merge_short(merges, merged) : LongMerge(merges, merged).run();
  tokens.resize(first + left);
}

}  // namespace polystate::tokenizer
