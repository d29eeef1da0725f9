#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attention_call.h"
#include "kernels/attention/operators.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Keys are brought into the order of a cache's pages, of so many positions.
constexpr std::int64_t kPage = 32;

// The tensors of a call that are not in its AttentionCall.
struct Dense {
  NamedTensor key;    // [batch, keys, kv_heads, head_dim]
  NamedTensor value;  // [batch, keys, kv_heads, value_dim]
  std::optional<TensorArgument> lengths;
  std::int64_t window;  // 0: none
  bool causal;

  [[nodiscard]] std::int64_t keys() const { return key.tensor.size(1); }
  [[nodiscard]] std::int64_t pages() const { return (keys() + kPage - 1) / kPage; }
  [[nodiscard]] std::int64_t kv_heads() const { return key.tensor.size(2); }
  [[nodiscard]] std::int64_t head_dim() const { return key.tensor.size(3); }
  [[nodiscard]] std::int64_t value_dim() const { return value.tensor.size(3); }
};

Status check(Requirements& require, AttentionCall& call, const Dense& dense) {
  require.floats(call.query, 4);
  require.floats(dense.key, 4);
  require.shape(dense.key, {call.batch(), -1, -1, -1});
  require.floats(dense.value, 4);
  require.shape(dense.value, {call.batch(), dense.keys(), dense.kv_heads(), -1});
  if (dense.lengths) {
    const NamedTensor lengths{"lengths", *dense.lengths};
    require.integers(lengths, 1);
    require.shape(lengths, {call.batch()});
    require.between(lengths, 0, dense.keys());
  }
  require.holds(dense.window >= 0, "a window of " + std::to_string(dense.window));
  call.require(require, {dense.keys(), dense.kv_heads(), dense.head_dim(), dense.value_dim()});
  return require.status();
}

// What a token at a position of the keys' sequence sees of its first `length` keys.
PositionRange seen_from(const Dense& dense, std::int64_t position, std::int64_t length) {
  PositionRange seen{0, dense.causal ? std::min(length, position + 1) : length};
  if (dense.window > 0 && dense.window <= dense.keys()) {
    seen.first = std::max(seen.first, position - dense.window + (dense.causal ? 1 : 0));
    if (!dense.causal) {
      seen.last = std::min(seen.last, position + dense.window + 1);
    }
  }
  return seen.first < seen.last ? seen : PositionRange{0, 0};
}

std::vector<PositionRange> seen_positions(const AttentionCall& call, const Dense& dense) {
  std::vector<PositionRange> seen;
  const std::int64_t tokens = call.tokens_of_one();
  for (std::int64_t row = 0; row < call.batch(); ++row) {
    const std::int64_t length = dense.lengths ? integers_of(*dense.lengths)[row] : dense.keys();
    for (std::int64_t token = 0; token < tokens; ++token) {
      seen.push_back(seen_from(dense, token + dense.keys() - tokens, length));
    }
  }
  return seen;
}

// All tokens of a row: its keys are packed once.
std::vector<std::int64_t> runs_of(const AttentionCall& call) {
  std::vector<std::int64_t> runs;
  for (std::int64_t row = 0; row <= call.batch(); ++row) {
    runs.push_back(row * call.tokens_of_one());
  }
  return runs;
}

// One head as pages: the keys copied to `packed` [pages, head_dim, kPage], the values as they lie.
HeadPages packed_head(const Dense& dense, std::int64_t row, std::int64_t kv_head, float* packed) {
  const std::int64_t head_dim = dense.head_dim();
  const std::int64_t first = row * dense.keys() * dense.kv_heads() + kv_head;
  const float* key = dense.key.tensor.data<float>() + first * head_dim;
  for (std::int64_t p = 0; p < dense.keys(); ++p, key += dense.kv_heads() * head_dim) {
    float* const to = packed + p / kPage * head_dim * kPage + p % kPage;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      to[d * kPage] = key[d];
    }
  }
  const std::int64_t value_stride = dense.kv_heads() * dense.value_dim();
  return {
      .keys = packed,
      .values = dense.value.tensor.data<float>() + first * dense.value_dim(),
      .pages = nullptr,
      .page = kPage,
      .head_dim = head_dim,
      .value_dim = dense.value_dim(),
      .key_page_stride = head_dim * kPage,
      .value_page_stride = kPage * value_stride,
      .value_stride = value_stride,
  };
}

}  // namespace

Status dense_attention(Arguments& arguments, const AttendFunctions& functions) {
  const Dense dense{.key = {"key", arguments.tensor(1)},
                    .value = {"value", arguments.tensor(2)},
                    .lengths = arguments.optional_tensor(3),
                    .window = arguments.integer(8),
                    .causal = arguments.boolean(9)};
  AttentionCall call{.query = {"query", arguments.tensor(0)},
                     .bias = arguments.optional_tensor(4),
                     .sinks = arguments.optional_tensor(5),
                     .options = {arguments.number(6), arguments.number(7)},
                     .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, dense); !checked) {
    return checked;
  }
  attend_all(call,
             {.kv_heads = dense.kv_heads(),
              .columns = dense.pages() * kPage,
              .packed_floats = dense.pages() * kPage * dense.head_dim(),
              .head =
                  [&](std::int64_t token, std::int64_t kv_head, float* packed) {
                    const std::int64_t tokens = call.tokens_of_one();
                    assert(tokens > 0);  // or there is nothing to attend
                    return packed_head(dense, token / tokens, kv_head, packed);
                  },
              .seen = seen_positions(call, dense),
              .runs = runs_of(call)},
             functions.over_floats);
  return {};
}

Status DenseAttention::run(Arguments& arguments) {
  return dense_attention(arguments, fastest_attend_functions());
}

}  // namespace polystate
