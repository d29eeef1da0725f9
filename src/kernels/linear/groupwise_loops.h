#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"

// What products need, beside the loops of all products, whose weights and activations have a scale
// for each group of steps; as they are included. An instruction set says further:
//   GroupSums, first_group_sums    a row's sums of whole numbers for a tile, of one group
//   floats_of                      S::kWidth of these as floats
//   kOffset                        what is added to each weight, and so taken from where sums start
namespace polystate::linear {

// Largest magnitudes below it have no inverse.
inline constexpr float kSmallestMagnitude = 1e-36F;

// Whether all values of a row are finite numbers.
template <typename S>
bool is_finite(const float* row, std::int64_t depth) {
  // Several, since an addition takes several cycles.
  typename S::Vector nothing[] = {S::set(0), S::set(0), S::set(0), S::set(0)};
  constexpr std::int64_t kParts = sizeof(nothing) / sizeof(nothing[0]);
  std::int64_t i = 0;
  for (; i + kParts * S::kWidth <= depth; i += kParts * S::kWidth) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      const auto x = S::load(row + i + part * S::kWidth);
      nothing[part] = S::multiply_add(x, S::set(0), nothing[part]);
    }
  }
  float rest = S::sum(S::add(S::add(nothing[0], nothing[1]), S::add(nothing[2], nothing[3])));
  for (; i < depth; ++i) rest += row[i] * 0;
  return rest == 0;
}

// Gives a whole group of finite numbers in 8 bits.
template <typename S>
GroupScale quantize_group(const float* group, std::int8_t* values) {
  constexpr std::int64_t kDepth = GroupwiseWeights::kGroupDepth;
  auto magnitudes = S::set(0);
  for (std::int64_t i = 0; i < kDepth; i += S::kWidth) {
    const auto x = S::load(group + i);
    magnitudes = S::max(magnitudes, S::max(x, S::subtract(S::set(0), x)));
  }
  const float largest = S::largest(magnitudes);
  const auto inverse = S::set(largest > kSmallestMagnitude ? 127 / largest : 0);
  auto sums = S::set(0);
  for (std::int64_t i = 0; i < kDepth; i += S::kWidth) {
    const auto rounded = S::round(S::multiply(S::load(group + i), inverse));
    S::store_bytes(values + i, rounded);
    sums = S::add(sums, rounded);
  }
  return {largest / 127, -S::kOffset * static_cast<std::int32_t>(S::sum(sums))};
}

template <typename S>
void quantize_groups(const float* row, std::int64_t depth, std::int8_t* values,
                     GroupScale* scales) {
  constexpr std::int64_t kDepth = GroupwiseWeights::kGroupDepth;
  if (!is_finite<S>(row, depth)) {
    for (std::int64_t i = 0; i < depth; i += kDepth) *scales++ = {__builtin_nanf(""), 0};
    return;
  }
  std::int64_t i = 0;
  for (; i + kDepth <= depth; i += kDepth) *scales++ = quantize_group<S>(row + i, values + i);
  if (i < depth) {
    float last[kDepth] = {};
    __builtin_memcpy(last, row + i, static_cast<std::size_t>(depth - i) * sizeof(float));
    *scales = quantize_group<S>(last, values + i);
  }
}

// The sums of a tile's columns.
template <typename S>
struct GroupwiseSums {
  typename S::Vector columns[kTileColumns / S::kWidth];
};

// What turns the sums of S::kWidth columns into results; of the first `count` of them.
template <typename S>
struct GroupwiseColumns {
  GroupwiseColumns(const GroupwiseWeights& weights, std::int64_t first, std::int64_t count)
      : bias(weights.bias == nullptr ? S::set(0) : S::load_some(weights.bias + first, count)) {}

  typename S::Vector bias;
};

template <typename S>
typename S::Vector groupwise_result(const GroupwiseSums<S>& sums, int part,
                                    const GroupwiseColumns<S>& columns) {
  return S::add(sums.columns[part], columns.bias);
}

// Adds the products of a group of M rows, the first of `rows`, with T tiles, the first of
// `weights`.
template <typename S, int M, int T, bool kFetch>
void add_group(const GroupwiseRows& rows, const GroupwiseWeights& weights, std::int64_t group,
               GroupwiseSums<S> (&sums)[M][T]) {
  constexpr std::int64_t kStepSize = kTileColumns * GroupwiseWeights::kTileDepth;
  constexpr std::int64_t kGroupSize = kTileColumns * GroupwiseWeights::kGroupDepth;
  const std::int64_t groups = rows.groups;
  const std::int64_t row_size = groups * GroupwiseWeights::kGroupDepth;
  const std::int8_t* const values = rows.values + group * GroupwiseWeights::kGroupDepth;
  const GroupScale* const scales = rows.scales + group;
  typename S::GroupSums products[M][T];
  for (int m = 0; m < M; ++m) {
    for (int t = 0; t < T; ++t) products[m][t] = S::first_group_sums(scales[m * groups].start);
  }
  for (std::int64_t step = 0; step < GroupwiseWeights::kStepsOfGroup; ++step) {
    typename S::Weights w[T];
    for (int t = 0; t < T; ++t) {
      const std::int8_t* const from =
          weights.tiles + (t * groups + group) * kGroupSize + step * kStepSize;
      if constexpr (kFetch) __builtin_prefetch(from + T * weights.tile_size(), 0, 2);
      w[t] = S::load_weights(from);
    }
    for (int m = 0; m < M; ++m) {
      const auto x = S::broadcast(values + m * row_size + step * GroupwiseWeights::kTileDepth);
      for (int t = 0; t < T; ++t) products[m][t] = S::add_products(products[m][t], x, w[t]);
    }
  }
  for (int t = 0; t < T; ++t) {
    for (int part = 0; part < kTileColumns / S::kWidth; ++part) {
      const auto of_weights =
          S::load(weights.scales + (t * groups + group) * kTileColumns + part * S::kWidth);
      for (int m = 0; m < M; ++m) {
        const auto scale = S::multiply(of_weights, S::set(scales[m * groups].scale));
        auto& sum = sums[m][t].columns[part];
        sum = S::multiply_add(S::floats_of(products[m][t], part), scale, sum);
      }
    }
  }
}

template <typename S, int M, int T, bool kFetch>
void multiply_groups(const typename S::Product& product, std::int64_t row, std::int64_t tile) {
  GroupwiseRows rows = product.rows;
  rows.values += row * rows.groups * GroupwiseWeights::kGroupDepth;
  rows.scales += row * rows.groups;
  GroupwiseWeights weights = product.weights;
  weights.tiles += tile * weights.tile_size();
  weights.scales += tile * rows.groups * kTileColumns;
  const float* const to = product.out + row * weights.columns + tile * kTileColumns;
  GroupwiseSums<S> sums[M][T];
  for (int m = 0; m < M; ++m) {
    for (int t = 0; t < T; ++t) {
      for (auto& columns : sums[m][t].columns) columns = S::set(0);
      __builtin_prefetch(to + m * weights.columns + t * kTileColumns, 1);
    }
  }
  for (std::int64_t group = 0; group < rows.groups; ++group) {
    add_group<S, M, T, kFetch>(rows, weights, group, sums);
  }
  finish_block<S, M, T>(product, row, tile, sums);
}

template <typename S>
constexpr GroupwiseLinearFunctions groupwise_functions() {
  return {.quantize = &quantize_groups<S>, .multiply = &multiply<S>};
}

}  // namespace polystate::linear
