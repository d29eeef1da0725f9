#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/vectors/vector_math.h"

// The inner loops of products over the vectors `S` of an instruction set; each file that includes
// this is compiled for one. Everything is a template over `S`, which is local to that file, and
// nothing of the standard library is called: a function compiled for one instruction set must not
// stand in for the same one elsewhere. `S` says what rows and weights are made of:
//   Product, Columns                        the product; what turns the sums of S::kWidth columns
//                                           into results
//   broadcast, load_weights                 of a row, a group's values; of a tile, its columns'
//   first_sums, add_products, result        a row's sums for a tile
// Where groups of steps have scales of their own, groupwise_loops.h says what else there is.
namespace polystate::linear {

// Rows and tiles whose sums are computed side by side, as many as there are registers for. Few rows
// read many tiles at once, from memory; many rows read few of them, so that these stay in the
// nearest cache.
struct BlockSize {
  int rows;
  int tiles;
};

template <typename S>
typename S::Vector activated(typename S::Vector x, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return S::max(S::set(0), x);  // the second where one is NaN
    case Activation::kSilu:
      return vectors::silu<S>(x);
  }
  __builtin_unreachable();
}

// Turns the sums of M rows and T whole tiles into results. What is the same for all of them is
// known to the compiler, or copied: a store might be to any of it otherwise.
template <typename S, Activation kActivation, bool kAdds, int M, int T>
void finish_tiles(const typename S::Product& product, std::int64_t row, std::int64_t tile,
                  const typename S::Sums (&sums)[M][T]) {
  const typename S::Product own = product;
  for (int t = 0; t < T; ++t) {
    for (int part = 0; part < kTileColumns / S::kWidth; ++part) {
      const std::int64_t column = (tile + t) * kTileColumns + part * S::kWidth;
      const typename S::Columns columns(own.weights, column, S::kWidth);
      std::int64_t place = row * own.weights.columns + column;
      for (int m = 0; m < M; ++m, place += own.weights.columns) {
        auto x = S::result(sums[m][t], part, own.rows, row + m, columns);
        x = activated<S>(x, kActivation);
        if constexpr (kAdds) x = S::add(x, S::load(own.addend + place));
        S::store(own.out + place, x);
      }
    }
  }
}

// Activates results of any product, adds their addends and stores them; `count` of a vector.
template <typename S>
void store_results(const typename S::Product& product, std::int64_t place, typename S::Vector x,
                   std::int64_t count) {
  x = activated<S>(x, product.activation);
  if (product.addend != nullptr) x = S::add(x, S::load_some(product.addend + place, count));
  if (count == S::kWidth) {
    S::store(product.out + place, x);
  } else {
    S::store_some(product.out + place, x, count);
  }
}

// As finish_tiles, of any product, whose last tile may not be whole.
template <typename S, int M, int T>
void finish_some_columns(const typename S::Product& product, std::int64_t row, std::int64_t tile,
                         const typename S::Sums (&sums)[M][T]) {
  const auto& weights = product.weights;
  for (int t = 0; t < T; ++t) {
    for (int part = 0; part < kTileColumns / S::kWidth; ++part) {
      const std::int64_t column = (tile + t) * kTileColumns + part * S::kWidth;
      if (column >= weights.columns) return;
      const std::int64_t left = weights.columns - column;
      const std::int64_t count = left < S::kWidth ? left : S::kWidth;
      const typename S::Columns columns(weights, column, count);
      for (int m = 0; m < M; ++m) {
        const auto x = S::result(sums[m][t], part, product.rows, row + m, columns);
        store_results<S>(product, (row + m) * weights.columns + column, x, count);
      }
    }
  }
}

// Turns the sums of M rows and T tiles into results.
template <typename S, int M, int T>
void finish_block(const typename S::Product& product, std::int64_t row, std::int64_t tile,
                  const typename S::Sums (&sums)[M][T]) {
  const bool whole = (tile + T) * kTileColumns <= product.weights.columns;
  const bool adds = product.addend != nullptr;
  if (whole && product.activation == Activation::kNone && adds) {
    finish_tiles<S, Activation::kNone, true>(product, row, tile, sums);
  } else if (whole && product.activation == Activation::kNone) {
    finish_tiles<S, Activation::kNone, false>(product, row, tile, sums);
  } else if (whole && product.activation == Activation::kRelu && !adds) {
    finish_tiles<S, Activation::kRelu, false>(product, row, tile, sums);
  } else if (whole && product.activation == Activation::kSilu && !adds) {
    finish_tiles<S, Activation::kSilu, false>(product, row, tile, sums);
  } else {
    finish_some_columns<S>(product, row, tile, sums);
  }
}

// M rows and T tiles. With kFetch the next T tiles come to the cache meanwhile: memory is slow to
// notice so many streams by itself.
template <typename S, int M, int T, bool kFetch>
void multiply_block(const typename S::Product& product, std::int64_t row, std::int64_t tile) {
  const auto& rows = product.rows;
  const auto& weights = product.weights;
  const float* const to = product.out + row * weights.columns + tile * kTileColumns;
  typename S::Sums sums[M][T];
  for (int m = 0; m < M; ++m) {
    for (int t = 0; t < T; ++t) {
      sums[m][t] = S::first_sums(rows, row + m);
      __builtin_prefetch(to + m * weights.columns + t * kTileColumns, 1);
    }
  }
  const std::int64_t tile_size = weights.tile_size();
  const auto* const tiles = weights.tiles + tile * tile_size;
  const auto* const values = rows.values + row * rows.stride;
  const std::int64_t groups = weights.groups();
  std::int64_t group = 0;
  do {
    typename S::Weights w[T];
    for (int t = 0; t < T; ++t) {
      const auto* const place = tiles + t * tile_size + group * kTileColumns * weights.kTileDepth;
      if constexpr (kFetch) __builtin_prefetch(place + T * tile_size, 0, 2);
      w[t] = S::load_weights(place);
    }
    for (int m = 0; m < M; ++m) {
      const auto x = S::broadcast(values + m * rows.stride, group);
      for (int t = 0; t < T; ++t) sums[m][t] = S::add_products(sums[m][t], x, w[t]);
    }
  } while (++group < groups);
  // Copies, so that the sums have no address and need not be in memory: GCC 12 stores each of them
  // at every step otherwise.
  typename S::Sums finished[M][T];
  for (int m = 0; m < M; ++m) {
    for (int t = 0; t < T; ++t) finished[m][t] = sums[m][t];
  }
  finish_block<S, M, T>(product, row, tile, finished);
}

// As multiply_block, where groups of steps have scales of their own; in groupwise_loops.h.
template <typename S, int M, int T, bool kFetch>
void multiply_groups(const typename S::Product& product, std::int64_t row, std::int64_t tile);

template <typename S, int M, int T, bool kFetch>
void multiply_any_block(const typename S::Product& product, std::int64_t row, std::int64_t tile) {
  if constexpr (requires { typename S::GroupSums; }) {
    multiply_groups<S, M, T, kFetch>(product, row, tile);
  } else {
    multiply_block<S, M, T, kFetch>(product, row, tile);
  }
}

// M rows, and T tiles or the last ones, which are fewer.
template <typename S, int M, int T>
void multiply_rows(const typename S::Product& product, std::int64_t row, TileRange tiles) {
  if (tiles.last - tiles.first < T) {
    for (std::int64_t tile = tiles.first; tile < tiles.last; ++tile) {
      multiply_any_block<S, M, 1, false>(product, row, tile);
    }
  } else if (row == 0) {
    multiply_any_block<S, M, T, true>(product, row, tiles.first);
  } else {
    multiply_any_block<S, M, T, false>(product, row, tiles.first);
  }
}

// `count` rows, M at the most.
template <typename S, int M, int T>
void multiply_some_rows(const typename S::Product& product, std::int64_t row, std::int64_t count,
                        TileRange tiles) {
  if constexpr (M > 0) {
    if (count == M) {
      multiply_rows<S, M, T>(product, row, tiles);
    } else {
      multiply_some_rows<S, M - 1, T>(product, row, count, tiles);
    }
  }
}

// T tiles for all rows, M at a time or, so that none is left with few, less; then the next tiles:
// their weights stay in the cache.
template <typename S, int M, int T>
void multiply_tiles(const typename S::Product& product, std::int64_t count, TileRange tiles) {
  const std::int64_t blocks = (count + M - 1) / M;
  for (std::int64_t first = tiles.first; first < tiles.last; first += T) {
    const TileRange some{first, first + T < tiles.last ? first + T : tiles.last};
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t row = block * count / blocks;
      const std::int64_t next = (block + 1) * count / blocks;
      multiply_some_rows<S, M, T>(product, row, next - row, some);
    }
  }
}

template <typename S>
void multiply(const typename S::Product& product, std::int64_t count, TileRange tiles) {
  if (count <= S::kFewRows.rows) {
    multiply_tiles<S, S::kFewRows.rows, S::kFewRows.tiles>(product, count, tiles);
  } else {
    multiply_tiles<S, S::kManyRows.rows, S::kManyRows.tiles>(product, count, tiles);
  }
}

}  // namespace polystate::linear
