#pragma once

#include <cstdint>

namespace polystate {

// An int8 matrix [columns, depth] in the order in which products read it: tiles of 16 columns, of
// which a tile has, for every 4 steps of depth, the 4 values of its columns one after another.
// Missing columns and steps are 0; no value is -128.
inline constexpr std::int64_t kTileColumns = 16;
inline constexpr std::int64_t kTileDepth = 4;

// Inline always, since files that are compiled for other instruction sets include them.
[[gnu::always_inline]] constexpr std::int64_t tile_count(std::int64_t columns) {
  return (columns + kTileColumns - 1) / kTileColumns;
}
[[gnu::always_inline]] constexpr std::int64_t depth_groups(std::int64_t depth) {
  return (depth + kTileDepth - 1) / kTileDepth;
}

struct PackedWeights {
  const std::int8_t* tiles;  // [tiles, depth groups, kTileColumns, kTileDepth]
  const float* scales;       // [columns]: what a value of a column stands for
  const std::int32_t* sums;  // [columns]: of the column's values
  const float* bias;         // [columns]; null: none
  std::int64_t columns;
  std::int64_t depth;

  [[nodiscard, gnu::always_inline]] std::int64_t tile_bytes() const {
    return depth_groups(depth) * kTileColumns * kTileDepth;
  }
};

}  // namespace polystate
