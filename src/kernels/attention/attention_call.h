#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"

namespace polystate {

// What all operators of attention have in common: queries, what is done to their scores, and where
// the results go.
struct AttentionCall {
  NamedTensor query;                    // [rows, tokens, heads, head_dim]
  std::optional<TensorArgument> bias;   // [1 or rows, 1 or heads, tokens, columns]
  std::optional<TensorArgument> sinks;  // [heads]
  ScoreOptions options;
  TensorArgument out;  // [rows, tokens, heads, value_dim]; made by `require`

  [[nodiscard]] std::int64_t rows() const { return query.tensor.size(0); }
  [[nodiscard]] std::int64_t tokens() const { return query.tensor.size(1); }
  [[nodiscard]] std::int64_t heads() const { return query.tensor.size(2); }

  // That everything fits keys and values of these sizes, the last requirement; `query` is of
  // floats, of 4 dimensions.
  struct Keys {
    std::int64_t columns;
    std::int64_t kv_heads;
    std::int64_t head_dim;
    std::int64_t value_dim;
  };
  void require(Requirements& require, const Keys& keys);
};

// One kv head of one row, or of a run of rows from `row` on. `packed` is scratch memory of
// `packed_floats`.
using HeadSource = std::function<HeadPages(std::int64_t row, std::int64_t kv_head, float* packed)>;

// The keys and values of a call.
struct AttentionSource {
  std::int64_t kv_heads;
  std::int64_t columns;            // more than any token sees, rounded up to whole pages
  std::int64_t packed_floats = 0;  // for `head`
  HeadSource head;
  std::vector<PositionRange> seen;  // [rows, tokens]
  // Where each run of rows that read the same keys and values begins; null: every row is one.
  std::vector<std::int64_t> runs = {};
};

// Computes the results, on as many threads as the work is worth. A row's result does not depend on
// other rows, nor on the number of threads.
void attend_all(const AttentionCall& call, const AttentionSource& source, AttendFunction attend);

}  // namespace polystate
