#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/requirements.h"

namespace polystate {

// What all operators of attention have in common: queries, what is done to their scores, and where
// the results go.
struct AttentionCall {
  NamedTensor query;              // [rows, tokens, heads, head_dim]
  std::optional<EtTensor> bias;   // [1 or rows, 1 or heads, tokens, columns]
  std::optional<EtTensor> sinks;  // [heads]
  ScoreOptions options;
  EtTensor out;  // [rows, tokens, heads, value_dim]

  [[nodiscard]] std::int64_t rows() const { return size_of(query.tensor, 0); }
  [[nodiscard]] std::int64_t tokens() const { return size_of(query.tensor, 1); }
  [[nodiscard]] std::int64_t heads() const { return size_of(query.tensor, 2); }

  // That everything fits keys and values of these sizes; `query` is of floats, of 4 dimensions.
  struct Keys {
    std::int64_t columns;
    std::int64_t kv_heads;
    std::int64_t head_dim;
    std::int64_t value_dim;
  };
  void require(Requirements& require, const Keys& keys) const;
};

// One kv head of one row. `packed` is scratch memory of `packed_floats`.
using HeadSource = std::function<HeadPages(std::int64_t row, std::int64_t kv_head, float* packed)>;

// The keys and values of a call.
struct AttentionSource {
  std::int64_t kv_heads;
  std::int64_t columns;            // more than any token sees, rounded up to whole pages
  std::int64_t packed_floats = 0;  // for `head`
  HeadSource head;
  std::vector<PositionRange> seen;  // [rows, tokens]
};

// Computes the results, on as many threads as the work is worth. A row's result does not depend on
// other rows, nor on the number of threads.
void attend_all(const AttentionCall& call, const AttentionSource& source, AttendFunction attend);

}  // namespace polystate
