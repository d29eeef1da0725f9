#pragma once

#include <cstdint>

#include "kernels/vectors/half.h"

namespace polystate {

// The inner loops of attention, which exist once for every instruction set.

// Positions `first` to `last - 1` of a sequence.
struct PositionRange {
  std::int64_t first;
  std::int64_t last;
};

// The keys and values of one head in one sequence, of elements of one type: position p is slot
// p % page of page p / page. Its number of pages is as large as the queries' ranges say.
struct HeadPages {
  const void* keys;           // page 0 of this head: [head_dim, page]
  const void* values;         // page 0 of this head: [page, value_dim], rows `value_stride` apart
  const std::int64_t* pages;  // number of each page; null: 0, 1, 2, ...
  std::int64_t page;
  std::int64_t head_dim;
  std::int64_t value_dim;
  std::int64_t key_page_stride;  // from a page to the next one, in elements
  std::int64_t value_page_stride;
  std::int64_t value_stride;
};

// What one query asks, and where its result goes.
struct HeadQuery {
  const float* query;  // [head_dim]
  const float* bias;   // [positions], added to the scores; null: none
  const float* sink;   // one more logit of the denominator; null: none
  float* out;          // [value_dim]
  PositionRange seen;
};

struct ScoreOptions {
  float scale = 1;
  float softcap = 0;  // 0: none
};

// No function takes more queries at once.
inline constexpr std::int64_t kMaxQueries = 4;

// Scratch memory for the scores of queries by position, zero at first: [kMaxQueries, stride].
struct Scores {
  float* data;
  std::int64_t stride;
};

// A stride for queries of sequences whose pages have up to `columns` positions.
constexpr std::int64_t attend_stride(std::int64_t columns) {
  constexpr std::int64_t kWidest = 16;
  return (columns / kWidest + 2) * kWidest;
}

// Attends for 1 to kMaxQueries queries of one head; `page` >= 1. The result of each is, bit for
// bit, what it is alone, whatever lies where it does not see. Reads the values that one of the
// queries sees, and the keys of whole pages.
using AttendFunction = void (*)(const HeadPages& head, const ScoreOptions& options,
                                const HeadQuery* queries, std::int64_t count, Scores scratch);

// What an instruction set has.
struct AttendFunctions {
  AttendFunction over_floats;  // pages of float32
  AttendFunction over_halves;  // pages of float16

  // Rounds to float16, to the nearest; what is finite stays so.
  void (*to_halves)(const float* from, std::int64_t count, Half* to);
};

}  // namespace polystate
