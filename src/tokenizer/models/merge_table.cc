#include "tokenizer/models/merge_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace polystate::tokenizer {
namespace {

// Up to here, looking through all pairs for the next one is faster than a heap.
constexpr std::size_t kShort = 24;

void merge_short(const MergeTable& merges, std::vector<Symbol>& symbols) {
  std::array<MergeTable::Merge, kShort> next;  // what symbols i and i + 1 become
  std::size_t size = symbols.size();
  const auto look_up = [&](std::size_t i) {
    next[i] = merges.find(symbols[i].id, symbols[i + 1].id);
  };
  for (std::size_t i = 0; i + 1 < size; ++i) look_up(i);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (next[i].rank < next[best].rank) best = i;
    }
    if (next[best].rank == MergeTable::kNoRank) break;
    symbols[best] = {next[best].symbol, symbols[best].size + symbols[best + 1].size};
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      symbols[i] = symbols[i + 1];
      if (i + 1 < size) next[i] = next[i + 1];
    }
    if (best > 0) look_up(best - 1);
    if (best + 1 < size) look_up(best);
  }
  symbols.resize(size);
}

// A pair that may be joined: symbols `position` and the next one, unless they changed since.
struct Candidate {
  std::uint32_t rank;
  std::uint32_t position;
  std::uint32_t symbol;
  std::uint32_t size;  // of both, which tells whether they changed

  // For a heap that has the next one to join on top.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  }
};

struct Links {
  std::uint32_t previous;
  std::uint32_t next;
};

void merge_long(const MergeTable& merges, std::vector<Symbol>& symbols) {
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<Links> links(count);
  for (std::uint32_t i = 0; i < count; ++i) links[i] = {i - 1, i + 1};  // count and ~0: none
  std::vector<Candidate> heap;
  const auto candidate = [&](std::uint32_t left, std::uint32_t right) {
    const MergeTable::Merge merge = merges.find(symbols[left].id, symbols[right].id);
    return Candidate{merge.rank, left, merge.symbol, symbols[left].size + symbols[right].size};
  };
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    const Candidate found = candidate(i, i + 1);
    if (found.rank != MergeTable::kNoRank) heap.push_back(found);
  }
  std::make_heap(heap.begin(), heap.end());
  const auto consider = [&](std::uint32_t left, std::uint32_t right) {
    const Candidate found = candidate(left, right);
    if (found.rank == MergeTable::kNoRank) return;
    heap.push_back(found);
    std::push_heap(heap.begin(), heap.end());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate top = heap.back();
    heap.pop_back();
    const std::uint32_t left = top.position;
    const std::uint32_t right = links[left].next;
    if (symbols[left].size == 0 || right >= count ||
        symbols[left].size + symbols[right].size != top.size) {
      continue;
    }
    symbols[left] = {top.symbol, top.size};
    symbols[right].size = 0;
    links[left].next = links[right].next;
    if (links[right].next < count) links[links[right].next].previous = left;
    if (links[left].previous < count) consider(links[left].previous, left);
    if (links[left].next < count) consider(left, links[left].next);
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.size == 0; });
}

}  // namespace

void merge_symbols(const MergeTable& merges, std::vector<Symbol>& symbols) {
  if (symbols.size() <= kShort) {
    merge_short(merges, symbols);
  } else {
    merge_long(merges, symbols);
  }
}

}  // namespace polystate::tokenizer
