#pragma once

#include <cstdint>

namespace polystate {

// An int8 matrix [columns, depth] in the order in which products read it: tiles of 16 columns, of
// which a tile has, for every 4 steps of depth, the 4 values of its columns one after another.
// Missing columns and steps are 0; no value is -128.
inline constexpr std::int64_t kTileColumns = 16;
inline constexpr std::int64_t kTileDepth = 4;

struct PackedWeights {
  const std::int8_t* tiles;  // [tiles, depth groups, kTileColumns, kTileDepth]
  const float* scales;       // [columns]: what a value of a column stands for
  const std::int32_t* sums;  // [columns]: of the column's values
  const float* bias;         // [columns]; null: none
  std::int64_t columns;
  std::int64_t depth;

  [[nodiscard]] std::int64_t tile_count() const {
    return (columns + kTileColumns - 1) / kTileColumns;
  }
  [[nodiscard]] std::int64_t depth_groups() const { return (depth + kTileDepth - 1) / kTileDepth; }
  [[nodiscard]] std::int64_t tile_bytes() const {
    return depth_groups() * kTileColumns * kTileDepth;
  }
};

}  // namespace polystate
