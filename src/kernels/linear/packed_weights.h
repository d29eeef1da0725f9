#pragma once

#include <cstdint>

#include "kernels/vectors/half.h"

namespace polystate {

// A matrix [columns, depth] in the order in which products read it: tiles of 16 columns, of which a
// tile has, for each group of steps of depth, the values of its columns one after another. Missing
// columns and steps are 0.
inline constexpr std::int64_t kTileColumns = 16;

// The quotient, rounded up, also of the largest numbers, which a program may give. Functions here
// are always inline, since files that are compiled for other instruction sets include them.
[[gnu::always_inline]] constexpr std::int64_t quotient_up(std::int64_t value, std::int64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

[[gnu::always_inline]] constexpr std::int64_t tile_count(std::int64_t columns) {
  return quotient_up(columns, kTileColumns);
}

// Weights as they are, in float32 or float64.
template <typename T>
struct PlainWeights {
  static constexpr std::int64_t kTileDepth = 1;  // steps of a group

  const T* tiles;  // [tiles, depth, kTileColumns]
  const T* bias;   // [columns]; null: none
  std::int64_t columns;
  std::int64_t depth;

  [[nodiscard, gnu::always_inline]] std::int64_t groups() const { return depth; }
  [[nodiscard, gnu::always_inline]] std::int64_t tile_size() const { return depth * kTileColumns; }
};

using FloatWeights = PlainWeights<float>;

// Weights in 8 bits; none is -128.
struct QuantizedWeights {
  static constexpr std::int64_t kTileDepth = 4;

  const std::int8_t* tiles;  // [tiles, groups, kTileColumns, kTileDepth]
  const float* scales;       // [columns]: what a value of a column stands for
  const std::int32_t* sums;  // [columns]: of the column's values
  const float* bias;         // [columns]; null: none
  std::int64_t columns;
  std::int64_t depth;

  [[gnu::always_inline]] static constexpr std::int64_t groups(std::int64_t depth) {
    return quotient_up(depth, kTileDepth);
  }
  [[nodiscard, gnu::always_inline]] std::int64_t groups() const { return groups(depth); }
  [[nodiscard, gnu::always_inline]] std::int64_t tile_size() const {
    return groups() * kTileColumns * kTileDepth;
  }
};

// Weights in 8 bits whose groups of kGroupDepth steps have scales of their own; none is -128. The
// depth is filled up to whole groups with 0.
struct GroupwiseWeights {
  static constexpr std::int64_t kTileDepth = 4;
  static constexpr std::int64_t kGroupDepth = 32;
  static constexpr std::int64_t kStepsOfGroup = kGroupDepth / kTileDepth;

  const std::int8_t* tiles;  // [tiles, groups * kStepsOfGroup, kTileColumns, kTileDepth]
  const Half* scales;        // [tiles, groups, kTileColumns]: what a value of a group stands for
  const float* bias;         // [columns]; null: none
  std::int64_t columns;
  std::int64_t depth;

  [[gnu::always_inline]] static constexpr std::int64_t groups(std::int64_t depth) {
    return quotient_up(depth, kGroupDepth);
  }
  [[nodiscard, gnu::always_inline]] std::int64_t groups() const { return groups(depth); }
  [[nodiscard, gnu::always_inline]] std::int64_t tile_size() const {
    return groups() * kGroupDepth * kTileColumns;
  }
};

}  // namespace polystate
