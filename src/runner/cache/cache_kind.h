#pragma once

#include <cstdint>

namespace polystate {

// Layers whose tokens see equally far back. Their keys and values lie in pools of as many pages, by
// one page table for each sequence.
struct CacheKind {
  std::int64_t window;     // how many of the last positions a token sees, its own included; 0: all
  std::int64_t pages;      // of a layer's pool
  std::int64_t row_pages;  // the most pages that a sequence has at a time
};

// The most pages that a sequence has at a time whose tokens see `window` positions, where it reads
// at most `chunk` tokens a step. The first of these sees `window - 1` positions before it, so that
// pages for `window - 1 + chunk` positions are in use, which begin anywhere in the first.
constexpr std::int64_t pages_of_window(std::int64_t window, std::int64_t chunk,
                                       std::int64_t page_size) {
  return (window + chunk - 2 + page_size - 1) / page_size + 1;
}

}  // namespace polystate
