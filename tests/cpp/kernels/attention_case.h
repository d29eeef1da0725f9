#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/attention/attend.h"
#include "kernels/kernel_call.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

struct AttentionSizes {
  std::int64_t rows = 3;
  std::int64_t tokens = 2;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 16;
  std::int64_t value_dim = 16;
  std::int64_t page = 16;
  std::int64_t row_pages = 3;
};

// The arguments of every operator of attention, seeded; rows have pages of their own.
struct AttentionCase {
  static AttentionCase random(const AttentionSizes& sizes);

  // Each calls its operator and gives the result, or what it has against the arguments.
  [[nodiscard]] Result<Tensor> paged(AttendFunction attend) const;
  [[nodiscard]] Result<Tensor> cross(AttendFunction attend) const;
  [[nodiscard]] Result<Tensor> dense(AttendFunction attend) const;
  [[nodiscard]] Result<Tensor> write_pages() const;
  [[nodiscard]] Result<Tensor> copy_pages() const;

  Tensor query, key, value;
  Tensor key_pool, value_pool;
  Tensor page_table;
  Tensor positions;  // of paged attention
  Tensor lengths;    // of all others
  Tensor source, target;
  std::optional<Tensor> bias;  // [1, heads, tokens, row_pages * page]
  std::optional<Tensor> sinks;
  Tensor out;  // of attention
  double scale = 0.25;
  double softcap = 0;
  std::int64_t window = 0;
  bool causal = false;
};

Tensor random_floats(const Shape& shape, unsigned seed);
Tensor integers(const std::vector<std::int64_t>& values);

}  // namespace polystate
