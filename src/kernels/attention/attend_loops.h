#pragma once

#include <cstdint>

#include "kernels/attention/attend.h"
#include "kernels/vectors/vector_math.h"

// The inner loops over the vectors `S` of an instruction set; each file that includes this is
// compiled for one. Everything is a template over `S`, which is local to that file, and nothing of
// the standard library is called: a function compiled for one instruction set must not stand in for
// the same one elsewhere.
namespace polystate::attention {

inline constexpr float kInfinity = __builtin_inff();

// Sums run over this many accumulators, since an addition takes several cycles.
inline constexpr int kPartialSums = 4;
// Vectors of a value that are summed at once.
inline constexpr int kValueVectors = 4;

template <typename S>
constexpr std::int64_t round_down(std::int64_t count) {
  return count / S::kWidth * S::kWidth;
}

// The number of the page at index `i` of a sequence.
template <typename S>
std::int64_t page_at(const HeadPages& head, std::int64_t i) {
  return head.pages == nullptr ? i : head.pages[i];
}

// How far behind what is read of a page the same of the next head lies, which is fetched meanwhile:
// memory would notice a stream in each page anew. `size` floats are a head's part of a page.
inline std::int64_t next_head(const HeadPages& head, std::int64_t size) {
  return head.pages == nullptr ? 0 : size;
}

// The products of Q queries with `count` <= S::kWidth positions of a page.
template <typename S, int Q, bool kWhole>
void score_vector(const float* keys, const HeadPages& head, const HeadQuery* queries,
                  std::int64_t count, Scores scores) {
  typename S::Vector sums[Q][kPartialSums];
  for (int q = 0; q < Q; ++q) {
    for (int k = 0; k < kPartialSums; ++k) {
      sums[q][k] = S::set(0);
    }
  }
  const std::int64_t keys_ahead = next_head(head, head.head_dim * head.page);
  std::int64_t d = 0;
  for (; d + kPartialSums <= head.head_dim; d += kPartialSums) {
    for (int k = 0; k < kPartialSums; ++k) {
      __builtin_prefetch(keys + (d + k) * head.page + keys_ahead);
      const auto key = kWhole ? S::load(keys + (d + k) * head.page)
                              : S::load_some(keys + (d + k) * head.page, count);
      for (int q = 0; q < Q; ++q) {
        sums[q][k] = S::multiply_add(S::set(queries[q].query[d + k]), key, sums[q][k]);
      }
    }
  }
  for (; d < head.head_dim; ++d) {
    const auto key = S::load_some(keys + d * head.page, count);
    for (int q = 0; q < Q; ++q) {
      sums[q][0] = S::multiply_add(S::set(queries[q].query[d]), key, sums[q][0]);
    }
  }
  for (int q = 0; q < Q; ++q) {
    const auto sum = S::add(S::add(sums[q][0], sums[q][1]), S::add(sums[q][2], sums[q][3]));
    S::store_some(scores.data + q * scores.stride, sum, count);
  }
}

// The products of Q queries with every position of the pages that `seen` touches.
template <typename S, int Q>
void score_pages(const HeadPages& head, const HeadQuery* queries, PositionRange seen,
                 Scores scores) {
  for (std::int64_t i = seen.first / head.page; i * head.page < seen.last; ++i) {
    const float* const keys = head.keys + page_at<S>(head, i) * head.key_page_stride;
    const std::int64_t whole = round_down<S>(head.page);
    const Scores here{scores.data + i * head.page, scores.stride};
    for (std::int64_t c = 0; c < whole; c += S::kWidth) {
      score_vector<S, Q, true>(keys + c, head, queries, S::kWidth, {here.data + c, here.stride});
    }
    if (whole < head.page) {
      score_vector<S, Q, false>(keys + whole, head, queries, head.page - whole,
                                {here.data + whole, here.stride});
    }
  }
}

// Scales, caps and biases the scores that a query sees; those around them, in the vectors and in
// `all`, become minus infinity.
template <typename S>
void finish_scores(const HeadQuery& query, const ScoreOptions& options, PositionRange all,
                   float* scores) {
  const auto cap = S::set(options.softcap);
  const std::int64_t last = query.seen.last;
  for (std::int64_t c = round_down<S>(query.seen.first); c < last; c += S::kWidth) {
    auto score = S::multiply(S::load(scores + c), S::set(options.scale));
    if (options.softcap > 0) {
      score = S::multiply(cap, vectors::tanh<S>(S::divide(score, cap)));
    }
    if (query.bias != nullptr) {
      const std::int64_t count = last - c < S::kWidth ? last - c : S::kWidth;
      score = S::add(score, S::load_some(query.bias + c, count));
    }
    S::store(scores + c, score);
  }
  for (std::int64_t c = round_down<S>(all.first); c < query.seen.first; ++c) {
    scores[c] = -kInfinity;
  }
  const std::int64_t end = round_down<S>(all.last + S::kWidth - 1);
  for (std::int64_t c = last; c < end; ++c) {
    scores[c] = -kInfinity;
  }
}

// Turns scores into weights, not normalised, and gives what they are to be multiplied by.
template <typename S>
float weigh(const HeadQuery& query, PositionRange all, float* scores) {
  auto tops = S::set(query.sink == nullptr ? -kInfinity : *query.sink);
  const std::int64_t first = round_down<S>(all.first);
  for (std::int64_t c = first; c < all.last; c += S::kWidth) {
    tops = S::max(S::load(scores + c), tops);
  }
  float top = S::largest(tops);
  top = top == -kInfinity ? 0 : top;
  auto sums = S::set(0);
  for (std::int64_t c = first; c < all.last; c += S::kWidth) {
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

// Some dimensions of values: N vectors from `first` on, or `count` floats of one vector.
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
struct Value {
  const float* data;
  std::int64_t count;
  std::int64_t ahead;  // see next_head
};

// Adds part of a value to the sums; `weights` are at its position.
template <typename S, int Q, int N, bool kWhole>
void add_value(const Value& value, Scores weights, typename S::Vector (&sums)[Q][N]) {
  typename S::Vector vectors[N];
  for (int k = 0; k < N; ++k) {
    __builtin_prefetch(value.data + k * S::kWidth + value.ahead);
    vectors[k] =
        kWhole ? S::load(value.data + k * S::kWidth) : S::load_some(value.data, value.count);
  }
  for (int q = 0; q < Q; ++q) {
    const auto weight = S::set(weights.data[q * weights.stride]);
    for (int k = 0; k < N; ++k) {
      sums[q][k] = S::multiply_add(weight, vectors[k], sums[q][k]);
    }
  }
}

// Writes part of the results: the sums of the values that are seen.
template <typename S, int Q, int N, bool kWhole>
void sum_values(const HeadPages& head, const HeadQuery* queries, const WeightedRange& range,
                ValuePart part) {
  typename S::Vector sums[Q][N];
  for (int q = 0; q < Q; ++q) {
    for (int k = 0; k < N; ++k) {
      sums[q][k] = S::set(0);
    }
  }
  const std::int64_t ahead = next_head(head, head.page * head.value_stride);
  const PositionRange all = range.positions;
  for (std::int64_t i = all.first / head.page; i * head.page < all.last; ++i) {
    const std::int64_t start = i * head.page;
    const std::int64_t first = all.first > start ? all.first : start;
    const std::int64_t last = all.last < start + head.page ? all.last : start + head.page;
    const float* value = head.values + page_at<S>(head, i) * head.value_page_stride +
                         (first - start) * head.value_stride + part.first;
    for (std::int64_t p = first; p < last; ++p, value += head.value_stride) {
      add_value<S, Q, N, kWhole>({value, part.count, ahead},
                                 {range.weights.data + p, range.weights.stride}, sums);
    }
  }
  for (int q = 0; q < Q; ++q) {
    for (int k = 0; k < N; ++k) {
      const auto sum = S::multiply(sums[q][k], S::set(range.factors[q]));
      S::store_some(queries[q].out + part.first + k * S::kWidth, sum, part.count);
    }
  }
}

template <typename S, int Q>
void attend_queries(const HeadPages& head, const ScoreOptions& options, const HeadQuery* queries,
                    Scores scores) {
  PositionRange all = queries[0].seen;
  for (int q = 1; q < Q; ++q) {
    const PositionRange seen = queries[q].seen;
    all.first = seen.first < all.first ? seen.first : all.first;
    all.last = seen.last > all.last ? seen.last : all.last;
  }
  score_pages<S, Q>(head, queries, all, scores);
  float factors[Q];
  for (int q = 0; q < Q; ++q) {
    finish_scores<S>(queries[q], options, all, scores.data + q * scores.stride);
    factors[q] = weigh<S>(queries[q], all, scores.data + q * scores.stride);
  }
  const WeightedRange range{all, scores, factors};
  std::int64_t d = 0;
  for (; d + kValueVectors * S::kWidth <= head.value_dim; d += kValueVectors * S::kWidth) {
    sum_values<S, Q, kValueVectors, true>(head, queries, range, {d, S::kWidth});
  }
  for (; d + S::kWidth <= head.value_dim; d += S::kWidth) {
    sum_values<S, Q, 1, true>(head, queries, range, {d, S::kWidth});
  }
  if (d < head.value_dim) {
    sum_values<S, Q, 1, false>(head, queries, range, {d, head.value_dim - d});
  }
}

// An AttendFunction.
template <typename S>
void attend(const HeadPages& head, const ScoreOptions& options, const HeadQuery* queries,
            std::int64_t count, Scores scores) {
  std::int64_t q = 0;
  for (; q + S::kQueries <= count; q += S::kQueries) {
    attend_queries<S, S::kQueries>(head, options, queries + q, scores);
  }
  for (; q < count; ++q) {
    attend_queries<S, 1>(head, options, queries + q, scores);
  }
}

}  // namespace polystate::attention
