#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"

// The inner loops over the vectors `S` of an instruction set; each file that includes this is
// compiled for one. Everything is a template over `S`, which is local to that file, and nothing of
// the standard library is called: a function compiled for one instruction set must not stand in for
// the same one elsewhere.
namespace polystate::linear {

// Differences beyond it are no finite number.
inline constexpr float kLargestSpan = 3.4028234664e38F;

template <typename S>
RowScale quantize(const float* row, std::int64_t depth, std::uint8_t* values) {
  auto lows = S::set(0);
  auto highs = S::set(0);
  auto nothing = S::set(0);  // stays 0, or becomes NaN
  std::int64_t i = 0;
  for (; i + S::kWidth <= depth; i += S::kWidth) {
    const auto x = S::load(row + i);
    lows = S::min(x, lows);
    highs = S::max(x, highs);
    nothing = S::multiply_add(x, S::set(0), nothing);
  }
  float low = S::smallest(lows);
  float high = S::largest(highs);
  float nan = S::sum(nothing);
  for (; i < depth; ++i) {
    low = row[i] < low ? row[i] : low;
    high = row[i] > high ? row[i] : high;
    nan += row[i] * 0;
  }
  const float span = high - low;
  if (nan != 0 || !(span <= kLargestSpan)) {
    for (i = 0; i < depth; ++i) values[i] = 0;
    return {__builtin_nanf(""), 0};
  }
  const float inverse = span > 0 ? 255 / span : 0;
  const auto zero = static_cast<std::int32_t>(S::nearest(-low * inverse));
  i = 0;
  for (; i + S::kWidth <= depth; i += S::kWidth) {
    S::store_bytes(values + i, S::multiply(S::load(row + i), S::set(inverse)), zero);
  }
  for (; i < depth; ++i) {
    const std::int32_t value = static_cast<std::int32_t>(S::nearest(row[i] * inverse)) + zero;
    values[i] = static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
  }
  return {span / 255, zero};
}

// M rows and T tiles. With kFetch the next T tiles come to the cache meanwhile: memory is slow to
// notice so many streams by itself.
template <typename S, int M, int T, bool kFetch>
void multiply_block(const Product& product, std::int64_t row, std::int64_t tile) {
  const auto& [rows, weights, out, out_stride] = product;
  float* const to = out + row * out_stride + tile * kTileColumns;
  typename S::Sums sums[M][T];
  for (int m = 0; m < M; ++m) {
    for (int t = 0; t < T; ++t) {
      sums[m][t] = S::no_sums();
      __builtin_prefetch(to + m * out_stride + t * kTileColumns, 1);
    }
  }
  const std::int64_t tile_bytes = weights.tile_bytes();
  const std::int8_t* const tiles = weights.tiles + tile * tile_bytes;
  const std::uint8_t* const values = rows.values + row * rows.stride;
  for (std::int64_t group = 0; group < weights.depth_groups(); ++group) {
    typename S::Values x[M];
    for (int m = 0; m < M; ++m) {
      x[m] = S::broadcast(values + m * rows.stride + group * kTileDepth);
    }
    for (int t = 0; t < T; ++t) {
      const std::int8_t* const place = tiles + t * tile_bytes + group * kTileColumns * kTileDepth;
      if constexpr (kFetch) __builtin_prefetch(place + T * tile_bytes, 0, 2);
      const auto w = S::load_weights(place);
      for (int m = 0; m < M; ++m) sums[m][t] = S::add_products(sums[m][t], x[m], w);
    }
  }
  for (int t = 0; t < T; ++t) {
    const std::int64_t column = (tile + t) * kTileColumns;
    const std::int64_t left = weights.columns - column;
    const TileColumns columns{weights, column, left < kTileColumns ? left : kTileColumns};
    for (int m = 0; m < M; ++m) {
      S::finish(sums[m][t], rows.scales[row + m], columns, to + m * out_stride + t * kTileColumns);
    }
  }
}

// M rows, all tiles of a range.
template <typename S, int M>
void multiply_rows(const Product& product, std::int64_t row, TileRange tiles) {
  std::int64_t tile = tiles.first;
  for (; tile + S::kTiles <= tiles.last; tile += S::kTiles) {
    if (row == 0) {
      multiply_block<S, M, S::kTiles, true>(product, row, tile);
    } else {
      multiply_block<S, M, S::kTiles, false>(product, row, tile);
    }
  }
  for (; tile < tiles.last; ++tile) multiply_block<S, M, 1, false>(product, row, tile);
}

// The last rows, fewer than S::kRows.
template <typename S, int M>
void multiply_last_rows(const Product& product, std::int64_t row, std::int64_t count,
                        TileRange tiles) {
  if constexpr (M > 0) {
    if (count == M) {
      multiply_rows<S, M>(product, row, tiles);
    } else {
      multiply_last_rows<S, M - 1>(product, row, count, tiles);
    }
  }
}

// S::kTiles tiles for all rows, then the next ones: their weights stay in the cache.
template <typename S>
void multiply(const Product& product, std::int64_t count, TileRange tiles) {
  for (std::int64_t first = tiles.first; first < tiles.last; first += S::kTiles) {
    const std::int64_t end = first + S::kTiles;
    const TileRange some{first, end < tiles.last ? end : tiles.last};
    std::int64_t row = 0;
    for (; row + S::kRows <= count; row += S::kRows) {
      multiply_rows<S, S::kRows>(product, row, some);
    }
    multiply_last_rows<S, S::kRows - 1>(product, row, count - row, some);
  }
}

template <typename S>
constexpr LinearFunctions functions() {
  return {&quantize<S>, &multiply<S>};
}

}  // namespace polystate::linear
