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
  std::int64_t tokens = 2;  // of each row
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 16;
  std::int64_t value_dim = 16;
  std::int64_t page = 16;
  std::int64_t row_pages = 3;
};

// The arguments of every operator of attention, seeded; rows have pages of their own.
struct AttentionCase {
  // For attention over pages: tokens of all rows in one list, row after row.
  static AttentionCase of_tokens(const AttentionSizes& sizes);
  // For dense attention and whole rows that are written: [rows, tokens, ...].
  static AttentionCase of_rows(const AttentionSizes& sizes);

  // Each calls its operator and gives the result, or what it has against the arguments.
  [[nodiscard]] Result<Tensor> paged(const AttendFunctions& functions) const;
  [[nodiscard]] Result<Tensor> cross(const AttendFunctions& functions) const;
  [[nodiscard]] Result<Tensor> dense(const AttendFunctions& functions) const;
  [[nodiscard]] Result<Tensor> write_pages() const;
  [[nodiscard]] Result<Tensor> copy_pages() const;

  // The same with pools of float16, to which the numbers of this one are rounded.
  [[nodiscard]] AttentionCase with_half_pools() const;

  Tensor query, key, value;
  Tensor key_pool, value_pool;
  Tensor page_table;
  Tensor positions, rows;  // of the tokens in one list
  Tensor lengths;          // of rows
  Tensor source, target;
  std::optional<Tensor> bias;
  std::optional<Tensor> sinks;
  Tensor out;  // of attention
  double scale = 0.25;
  double softcap = 0;
  std::int64_t window = 0;
  bool causal = false;
};

// Its numbers rounded to float16, and numbers of float16 as they are.
Tensor halves(const Tensor& numbers);
Tensor widened(const Tensor& numbers);

Tensor random_floats(const Shape& shape, unsigned seed);
Tensor integers(const std::vector<std::int64_t>& values);

}  // namespace polystate
