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
// the results go. Tokens are those of all sequences of a batch, one after another.
struct AttentionCall {
  NamedTensor query;                    // [tokens, heads, head_dim], or [batch, tokens, ...]
  std::optional<TensorArgument> bias;   // [1 or batch, 1 or heads, tokens, columns]
  std::optional<TensorArgument> sinks;  // [heads]
  ScoreOptions options;
  TensorArgument out;  // as the query, of value_dim elements; made by `require`

  [[nodiscard]] std::int64_t batch() const { return of_batch() ? query.tensor.size(0) : 1; }
  [[nodiscard]] std::int64_t tokens_of_one() const { return query.tensor.size(of_batch() ? 1 : 0); }
  [[nodiscard]] std::int64_t tokens() const { return batch() * tokens_of_one(); }
  [[nodiscard]] std::int64_t heads() const { return query.tensor.size(of_batch() ? 2 : 1); }
  [[nodiscard]] std::int64_t head_dim() const { return query.tensor.size(of_batch() ? 3 : 2); }
  [[nodiscard]] std::int64_t value_dim() const { return out.size(of_batch() ? 3 : 2); }

  // That everything fits keys and values of these sizes, the last requirement; `query` is of
  // floats, of 3 or 4 dimensions.
  struct Keys {
    std::int64_t columns;
    std::int64_t kv_heads;
    std::int64_t head_dim;
    std::int64_t value_dim;
  };
  void require(Requirements& require, const Keys& keys);

 private:
  [[nodiscard]] bool of_batch() const { return query.tensor.rank() == 4; }
};

// One kv head of what the run of tokens from `token` on reads. `packed` is scratch memory of
// `packed_floats`.
using HeadSource =
    std::function<HeadPages(std::int64_t token, std::int64_t kv_head, float* packed)>;

// The keys and values of a call.
struct AttentionSource {
  std::int64_t kv_heads;
  std::int64_t columns;            // more than any token sees, rounded up to whole pages
  std::int64_t packed_floats = 0;  // for `head`
  HeadSource head;
  std::vector<PositionRange> seen;  // [tokens]
  // Tokens runs[i] to runs[i + 1] - 1 read the same keys and values.
  std::vector<std::int64_t> runs;
};

// Neighbouring tokens of which `goes_on` says that they read what the one before reads, as runs. A
// long one is several where there are few heads, so that threads share it.
std::vector<std::int64_t> token_runs(std::int64_t tokens, std::int64_t kv_heads,
                                     const std::function<bool(std::int64_t token)>& goes_on);

// Computes the results, on as many threads as the work is worth. What a token's is does not depend
// on other tokens, nor on the number of threads.
void attend_all(const AttentionCall& call, const AttentionSource& source, AttendFunction attend);

}  // namespace polystate
