#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace polystate {

// What a request may need at most, from its start to its end.
struct Demand {
  std::int64_t rows = 0;           // of a step: its beams, or its sequences
  std::int64_t pages = 0;          // of the decoder's caches, where tokens see all before them
  std::int64_t source_tokens = 0;  // read by the encoder; 0 without one
  std::int64_t source_pages = 0;   // of the caches of sources
};

// The pages that a request may need of a kind of caches in which a sequence has at most `row_pages`
// at a time (CacheKind): where tokens see a window, fewer than `demand.pages`.
std::int64_t pages_of_kind(const Demand& demand, std::int64_t row_pages);

// Pages of one kind of caches.
struct FreePages {
  std::int64_t pages;      // free ones
  std::int64_t row_pages;  // the most of a sequence at a time
};

// What is free for requests that wait.
struct FreeCapacity {
  std::int64_t rows;
  std::vector<FreePages> pages;  // of each kind
  std::int64_t source_pages;
  // Of one call of the encoder: sources, and their tokens, each padded to the longest. A source
  // that has more tokens than that is read alone.
  std::int64_t sources;
  std::int64_t source_tokens;
};

// How many of those that wait are admitted: the first ones that fit together. None is passed over,
// so that none waits for ever.
std::size_t count_admitted(std::span<const Demand> waiting, const FreeCapacity& free);

// Pages that `rows` sequences need at most, which start with the same `prompt_length` tokens and
// grow to `max_length`. They share the pages that the prompt fills without its last token. However
// they are forked, each has at most the rest of its pages to itself; a partly filled page that is
// copied before it is written is one of these. Where tokens see a window, the sequences have some
// of the same pages at a time, and each at most those of a window and a chunk: see pages_of_kind.
std::int64_t pages_needed(std::int64_t rows, std::int64_t prompt_length, std::int64_t max_length,
                          std::int64_t page_size);

}  // namespace polystate
