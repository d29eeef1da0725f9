#pragma once

#include <cstdint>

#include "kernels/attention/attend.h"
#include "kernels/vectors/half.h"
#include "kernels/vectors/vector_math.h"

// The inner loops over the vectors `S` of an instruction set; each file that includes this is
// compiled for one. Everything is a template over `S`, which is local to that file, and nothing of
// the standard library is called: a function compiled for one instruction set must not stand in for
// the same one elsewhere.
namespace polystate::attention {

inline constexpr float kInfinity = __builtin_inff();

// Sums run over this many accumulators, since an addition takes several cycles.
inline constexpr int kPartialSums = 4;
// Vectors of a value that are summed at once, as many as there are registers for.
template <int Q>
inline constexpr int kValueVectors = Q == 1 ? 8 : 4;

// Elements of a line of the cache.
template <typename Element>
inline constexpr std::int64_t kLineElements = 64 / sizeof(Element);

template <typename S>
constexpr std::int64_t round_down(std::int64_t count) {
  return count / S::kWidth * S::kWidth;
}

// Stores a vector, or its first `count` elements, for which AVX2 takes long.
template <typename S, bool kWhole>
void store_part(float* to, typename S::Vector x, std::int64_t count) {
  if constexpr (kWhole) {
    S::store(to, x);
  } else {
    S::store_some(to, x, count);
  }
}

// The number of the page at index `i` of a sequence.
template <typename S>
std::int64_t page_at(const HeadPages& head, std::int64_t i) {
  return head.pages == nullptr ? i : head.pages[i];
}

// How far behind what is read of a page the same of the next head lies, which is fetched meanwhile:
// memory would notice a stream in each page anew. `size` elements are a head's part of a page.
template <typename S>
std::int64_t next_head(const HeadPages& head, std::int64_t size) {
  return head.pages == nullptr ? 0 : size;
}

// The sums of a product of Q queries with V vectors of positions, over dimensions that are as many
// times kPartialSums; the rest go to the first.
template <typename S, int Q, int V>
struct ScoreSums {
  ScoreSums() {
    for (auto& of_query : parts) {
      for (auto& of_vector : of_query) {
        for (auto& part : of_vector) part = S::set(0);
      }
    }
  }

  // Adds the products of dimension `d`; of the first `count` positions, or of whole vectors.
  template <bool kWhole, typename Element>
  void add(const Element* keys, const HeadQuery* queries, std::int64_t d, int part,
           std::int64_t count) {
    for (int v = 0; v < V; ++v) {
      const auto key = kWhole ? S::load(keys + v * S::kWidth) : S::load_some(keys, count);
      for (int q = 0; q < Q; ++q) {
        auto& sum = parts[q][v][part];
        sum = S::multiply_add(S::set(queries[q].query[d]), key, sum);
      }
    }
  }

  typename S::Vector parts[Q][V][kPartialSums];
};

// The products of Q queries with V vectors of positions of a page, or with `count` positions of
// one.
template <typename S, int Q, int V, bool kWhole, typename Element>
void score_vectors(const Element* keys, const HeadPages& head, const HeadQuery* queries,
                   std::int64_t count, Scores scores) {
  ScoreSums<S, Q, V> sums;
  const std::int64_t keys_ahead = next_head<S>(head, head.head_dim * head.page);
  const bool fills_lines = head.page >= kLineElements<Element>;  // else two dimensions share one
  std::int64_t d = 0;
  for (; d + kPartialSums <= head.head_dim; d += kPartialSums) {
    for (int k = 0; k < kPartialSums; ++k) {
      const Element* const from = keys + (d + k) * head.page;
      if (k % 2 == 0 || fills_lines) __builtin_prefetch(from + keys_ahead);
      sums.template add<kWhole>(from, queries, d + k, k, count);
    }
  }
  for (; d < head.head_dim; ++d) {
    sums.template add<kWhole>(keys + d * head.page, queries, d, 0, count);
  }
  for (int q = 0; q < Q; ++q) {
    for (int v = 0; v < V; ++v) {
      const auto& part = sums.parts[q][v];
      const auto sum = S::add(S::add(part[0], part[1]), S::add(part[2], part[3]));
      store_part<S, kWhole>(scores.data + q * scores.stride + v * S::kWidth, sum, count);
    }
  }
}

// The products of Q queries with the positions that `seen` has, and some around them.
template <typename S, typename Element, int Q>
void score_pages(const HeadPages& head, const HeadQuery* queries, PositionRange seen,
                 Scores scores) {
  // As many sums as there are registers for.
  constexpr int kVectors = Q == 1 ? 2 : 1;
  const std::int64_t whole = round_down<S>(head.page);
  for (std::int64_t i = seen.first / head.page; i * head.page < seen.last; ++i) {
    const std::int64_t start = i * head.page;
    const Element* const keys =
        static_cast<const Element*>(head.keys) + page_at<S>(head, i) * head.key_page_stride;
    std::int64_t c = seen.first > start ? round_down<S>(seen.first - start) : 0;
    const std::int64_t last = seen.last - start < head.page ? seen.last - start : head.page;
    while (c < last) {
      const Scores here{scores.data + start + c, scores.stride};
      if (last - c > (kVectors - 1) * S::kWidth && whole - c >= kVectors * S::kWidth) {
        score_vectors<S, Q, kVectors, true>(keys + c, head, queries, 0, here);
        c += kVectors * S::kWidth;
      } else if (c < whole) {
        score_vectors<S, Q, 1, true>(keys + c, head, queries, 0, here);
        c += S::kWidth;
      } else {
        score_vectors<S, Q, 1, false>(keys + c, head, queries, head.page - c, here);
        c = head.page;
      }
    }
  }
}

inline constexpr float kLanes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Scales, caps and biases the scores that a query sees; all others, in the vectors that have those
// of `all`, become minus infinity. Gives the largest.
template <typename S>
float finish_scores(const HeadQuery& query, const ScoreOptions& options, PositionRange all,
                    float* scores) {
  const auto cap = S::set(options.softcap);
  const auto lanes = S::load(kLanes);
  const auto nothing = S::set(-kInfinity);
  auto tops = S::set(query.sink == nullptr ? -kInfinity : *query.sink);
  for (std::int64_t c = round_down<S>(all.first); c < all.last; c += S::kWidth) {
    auto score = S::multiply(S::load(scores + c), S::set(options.scale));
    if (options.softcap > 0) {
      score = S::multiply(cap, vectors::tanh<S>(S::divide(score, cap)));
    }
    const std::int64_t left = query.seen.last - c;
    if (query.bias != nullptr && left > 0) {
      const std::int64_t count = left < S::kWidth ? left : S::kWidth;
      score = S::add(score, S::load_some(query.bias + c, count));
    }
    const std::int64_t before = query.seen.first - c;
    score = S::select_less(lanes, S::set(static_cast<float>(left)), score, nothing);
    score = S::select_less(lanes, S::set(static_cast<float>(before)), nothing, score);
    S::store(scores + c, score);
    tops = S::max(score, tops);
  }
  return S::largest(tops);
}

// Turns scores into weights, not normalised, and gives what they are to be multiplied by. `top` is
// the largest score.
template <typename S>
float weigh(const HeadQuery& query, PositionRange all, float top, float* scores) {
  top = top == -kInfinity ? 0 : top;
  auto sums = S::set(0);
  for (std::int64_t c = round_down<S>(all.first); c < all.last; c += S::kWidth) {
    const auto weight = vectors::exp<S>(S::subtract(S::load(scores + c), S::set(top)));
    S::store(scores + c, weight);
    sums = S::add(sums, weight);
  }
  float total = S::sum(sums);
  if (query.sink != nullptr) {
    total += S::first(vectors::exp<S>(S::set(*query.sink - top)));
  }
  return total == 0 ? 0 : 1 / total;
}

// Some dimensions of values: N vectors from `first` on, or `count` elements of one vector.
struct ValuePart {
  std::int64_t first;
  std::int64_t count;
};

// What values are summed with: the weights of each query, and the factors of their sums.
struct WeightedRange {
  PositionRange positions;
  Scores weights;
  const float* factors;  // [Q]
};

// Part of one position's value.
template <typename Element>
struct Value {
  const Element* data;
  std::int64_t count;
  std::int64_t ahead;  // see next_head
};

template <typename S>
bool has(PositionRange range, std::int64_t position) {
  return range.first <= position && position < range.last;
}

// The positions that all queries see, of those that one of them sees: none at their end, if none.
template <typename S, int Q>
PositionRange seen_by_all(const HeadQuery* queries, PositionRange all) {
  PositionRange common = all;
  for (int q = 0; q < Q; ++q) {
    const PositionRange seen = queries[q].seen;
    common.first = seen.first > common.first ? seen.first : common.first;
    common.last = seen.last < common.last ? seen.last : common.last;
  }
  return common.first < common.last ? common : PositionRange{all.last, all.last};
}

// Adds part of a value at a position to the sums of the queries that see it, which are all if
// `kByAll`; `weights` are at the position. The weight of another is 0, but its product with what is
// not finite is not.
template <typename S, int Q, int N, bool kWhole, bool kByAll, typename Element>
void add_value(const Value<Element>& value, const HeadQuery* queries, std::int64_t position,
               Scores weights, typename S::Vector (&sums)[Q][N]) {
  typename S::Vector vectors[N];
  for (int k = 0; k < N; ++k) {
    if (k * S::kWidth % kLineElements<Element> == 0) {
      __builtin_prefetch(value.data + k * S::kWidth + value.ahead);
    }
    vectors[k] =
        kWhole ? S::load(value.data + k * S::kWidth) : S::load_some(value.data, value.count);
  }
  for (int q = 0; q < Q; ++q) {
    if (!kByAll && !has<S>(queries[q].seen, position)) continue;
    const auto weight = S::set(weights.data[q * weights.stride]);
    for (int k = 0; k < N; ++k) {
      sums[q][k] = S::multiply_add(weight, vectors[k], sums[q][k]);
    }
  }
}

// Adds part of the values of a range to the sums of the queries that see them, which are all if
// `kByAll`. Inlined, so that the sums stay in registers.
template <typename S, typename Element, int Q, int N, bool kWhole, bool kByAll>
[[gnu::always_inline]] inline void add_values(const HeadPages& head, const HeadQuery* queries,
                                              const WeightedRange& range, ValuePart part,
                                              typename S::Vector (&sums)[Q][N]) {
  const std::int64_t ahead = next_head<S>(head, head.page * head.value_stride);
  const PositionRange all = range.positions;
  for (std::int64_t i = all.first / head.page; i * head.page < all.last; ++i) {
    const std::int64_t start = i * head.page;
    const std::int64_t first = all.first > start ? all.first : start;
    const std::int64_t last = all.last < start + head.page ? all.last : start + head.page;
    const Element* value = static_cast<const Element*>(head.values) +
                           page_at<S>(head, i) * head.value_page_stride +
                           (first - start) * head.value_stride + part.first;
    for (std::int64_t p = first; p < last; ++p, value += head.value_stride) {
      add_value<S, Q, N, kWhole, kByAll>(Value<Element>{value, part.count, ahead}, queries, p,
                                         {range.weights.data + p, range.weights.stride}, sums);
    }
  }
}

// Writes part of the results: the sums of the values that are seen. `common` are the positions that
// all queries see: the whole range, if `kByAll`.
template <typename S, typename Element, int Q, int N, bool kWhole, bool kByAll>
void sum_seen_values(const HeadPages& head, const HeadQuery* queries, const WeightedRange& range,
                     PositionRange common, ValuePart part) {
  typename S::Vector sums[Q][N];
  for (int q = 0; q < Q; ++q) {
    for (int k = 0; k < N; ++k) {
      sums[q][k] = S::set(0);
    }
  }
  const WeightedRange within{common, range.weights, range.factors};
  if constexpr (kByAll) {
    add_values<S, Element, Q, N, kWhole, true>(head, queries, within, part, sums);
  } else {
    const PositionRange all = range.positions;
    const WeightedRange before{{all.first, common.first}, range.weights, range.factors};
    const WeightedRange after{{common.last, all.last}, range.weights, range.factors};
    add_values<S, Element, Q, N, kWhole, false>(head, queries, before, part, sums);
    add_values<S, Element, Q, N, kWhole, true>(head, queries, within, part, sums);
    add_values<S, Element, Q, N, kWhole, false>(head, queries, after, part, sums);
  }
  for (int q = 0; q < Q; ++q) {
    for (int k = 0; k < N; ++k) {
      const auto sum = S::multiply(sums[q][k], S::set(range.factors[q]));
      store_part<S, kWhole>(queries[q].out + part.first + k * S::kWidth, sum, part.count);
    }
  }
}

template <typename S, typename Element, int Q, int N, bool kWhole>
void sum_values(const HeadPages& head, const HeadQuery* queries, const WeightedRange& range,
                ValuePart part) {
  const PositionRange common = seen_by_all<S, Q>(queries, range.positions);
  if (common.first == range.positions.first && common.last == range.positions.last) {
    sum_seen_values<S, Element, Q, N, kWhole, true>(head, queries, range, common, part);
  } else {
    sum_seen_values<S, Element, Q, N, kWhole, false>(head, queries, range, common, part);
  }
}

template <typename S, typename Element, int Q>
void attend_queries(const HeadPages& head, const ScoreOptions& options, const HeadQuery* queries,
                    Scores scores) {
  PositionRange all = queries[0].seen;
  for (int q = 1; q < Q; ++q) {
    const PositionRange seen = queries[q].seen;
    all.first = seen.first < all.first ? seen.first : all.first;
    all.last = seen.last > all.last ? seen.last : all.last;
  }
  score_pages<S, Element, Q>(head, queries, all, scores);
  float factors[Q];
  for (int q = 0; q < Q; ++q) {
    float* const own = scores.data + q * scores.stride;
    const float top = finish_scores<S>(queries[q], options, all, own);
    factors[q] = weigh<S>(queries[q], all, top, own);
  }
  const WeightedRange range{all, scores, factors};
  constexpr int kMany = kValueVectors<Q>;
  std::int64_t d = 0;
  for (; d + kMany * S::kWidth <= head.value_dim; d += kMany * S::kWidth) {
    sum_values<S, Element, Q, kMany, true>(head, queries, range, {d, S::kWidth});
  }
  for (; d + S::kWidth <= head.value_dim; d += S::kWidth) {
    sum_values<S, Element, Q, 1, true>(head, queries, range, {d, S::kWidth});
  }
  if (d < head.value_dim) {
    sum_values<S, Element, Q, 1, false>(head, queries, range, {d, head.value_dim - d});
  }
}

// An AttendFunction, over pages of `Element`.
template <typename S, typename Element>
void attend(const HeadPages& head, const ScoreOptions& options, const HeadQuery* queries,
            std::int64_t count, Scores scores) {
  std::int64_t q = 0;
  for (; q + S::kQueries <= count; q += S::kQueries) {
    attend_queries<S, Element, S::kQueries>(head, options, queries + q, scores);
  }
  for (; q < count; ++q) {
    attend_queries<S, Element, 1>(head, options, queries + q, scores);
  }
}

// AttendFunctions::to_halves.
template <typename S>
void to_halves(const float* from, std::int64_t count, Half* to) {
  const auto rounded = [](typename S::Vector x) {
    // The second where one is NaN.
    return S::min(S::set(kLargestHalf), S::max(S::set(-kLargestHalf), x));
  };
  std::int64_t i = 0;
  for (; i + S::kWidth <= count; i += S::kWidth) S::store(to + i, rounded(S::load(from + i)));
  if (i < count) S::store_some(to + i, rounded(S::load_some(from + i, count - i)), count - i);
}

template <typename S>
constexpr AttendFunctions attend_functions() {
  return {.over_floats = &attend<S, float>,
          .over_halves = &attend<S, Half>,
          .to_halves = &to_halves<S>};
}

}  // namespace polystate::attention
