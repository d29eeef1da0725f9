#pragma once

#include <cstdint>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/requirements.h"
#include "polystate/core/dtype.h"

namespace polystate {

// The key and the value pool of a cache: [pages, kv_heads, head_dim, page] and
// [pages, kv_heads, page, value_dim], both of float32 or both of float16.
struct PagePools {
  NamedTensor key;
  NamedTensor value;

  [[nodiscard]] std::int64_t pages() const { return key.tensor.size(0); }
  [[nodiscard]] std::int64_t kv_heads() const { return key.tensor.size(1); }
  [[nodiscard]] std::int64_t head_dim() const { return key.tensor.size(2); }
  [[nodiscard]] std::int64_t page() const { return key.tensor.size(3); }
  [[nodiscard]] std::int64_t value_dim() const { return value.tensor.size(3); }

  [[nodiscard]] bool is_half() const { return key.tensor.dtype() == DType::kFloat16; }

  void require(Requirements& require) const;

  // The loops over such pages.
  [[nodiscard]] AttendFunction loops(const AttendFunctions& functions) const {
    return is_half() ? functions.over_halves : functions.over_floats;
  }

  // One head of the sequence whose pages these are.
  [[nodiscard]] HeadPages head(std::int64_t kv_head, const std::int64_t* pages) const;
};

// Keys and values [tokens, kv_heads, head_dim or value_dim] of one sequence.
struct NewPositions {
  const float* key;
  const float* value;
  std::int64_t first;
  std::int64_t count;
};

// Writes one head of the positions from `first` on of the sequence whose pages these are.
void write_positions(const PagePools& pools, std::int64_t kv_head, const std::int64_t* pages,
                     const NewPositions& positions, const AttendFunctions& functions);

}  // namespace polystate
