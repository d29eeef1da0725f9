#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attention_call.h"
#include "kernels/attention/operators.h"
#include "kernels/attention/page_pools.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// The tensors of a call that are not in its AttentionCall.
struct Paged {
  NamedTensor key;
  NamedTensor value;
  PagePools pools;
  NamedTensor page_table;
  NamedTensor positions;
  std::int64_t window;  // 0: none

  [[nodiscard]] std::int64_t capacity() const { return page_table.tensor.size(1) * pools.page(); }
  [[nodiscard]] const std::int64_t* pages_of(std::int64_t row) const {
    return integers_of(page_table.tensor).data() + row * page_table.tensor.size(1);
  }
};

Status check(Requirements& require, AttentionCall& call, const Paged& paged) {
  const PagePools& pools = paged.pools;
  require.floats(call.query, 4);
  pools.require(require);
  require.integers(paged.page_table, 2);
  require.shape(paged.page_table, {call.rows(), -1});
  require.between(paged.page_table, 0, pools.pages() - 1);
  require.floats(paged.key, 4);
  require.shape(paged.key, {call.rows(), call.tokens(), pools.kv_heads(), pools.head_dim()});
  require.floats(paged.value, 4);
  require.shape(paged.value, {call.rows(), call.tokens(), pools.kv_heads(), pools.value_dim()});
  require.integers(paged.positions, 1);
  require.shape(paged.positions, {call.rows()});
  require.between(paged.positions, 0, paged.capacity() - call.tokens());
  require.holds(paged.window >= 0, "a window of " + std::to_string(paged.window));
  call.require(require, {paged.capacity(), pools.kv_heads(), pools.head_dim(), pools.value_dim()});
  return require.status();
}

// Writes the new positions of one head of a row.
void write(const AttentionCall& call, const Paged& paged, std::int64_t row, std::int64_t kv_head,
           const AttendFunctions& functions) {
  const PagePools& pools = paged.pools;
  const std::int64_t first = row * call.tokens() * pools.kv_heads();
  write_positions(pools, kv_head, paged.pages_of(row),
                  {.key = paged.key.tensor.data<float>() + first * pools.head_dim(),
                   .value = paged.value.tensor.data<float>() + first * pools.value_dim(),
                   .first = integers_of(paged.positions.tensor)[static_cast<std::size_t>(row)],
                   .count = call.tokens()},
                  functions);
}

std::vector<PositionRange> seen_positions(const AttentionCall& call, const Paged& paged) {
  std::vector<PositionRange> seen;
  for (const std::int64_t first : integers_of(paged.positions.tensor)) {
    for (std::int64_t last = first + 1; last <= first + call.tokens(); ++last) {
      const bool whole = paged.window == 0 || paged.window >= last;
      seen.push_back({whole ? 0 : last - paged.window, last});
    }
  }
  return seen;
}

}  // namespace

Status paged_attention(Arguments& arguments, const AttendFunctions& functions) {
  const Paged paged{
      .key = {"key", arguments.tensor(1)},
      .value = {"value", arguments.tensor(2)},
      .pools = {{"key_pool", arguments.tensor(3)}, {"value_pool", arguments.tensor(4)}},
      .page_table = {"page_table", arguments.tensor(5)},
      .positions = {"positions", arguments.tensor(6)},
      .window = arguments.integer(11)};
  AttentionCall call{.query = {"query", arguments.tensor(0)},
                     .bias = arguments.optional_tensor(7),
                     .sinks = arguments.optional_tensor(8),
                     .options = {arguments.number(9), arguments.number(10)},
                     .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, paged); !checked) {
    return checked;
  }
  // A row's positions are written where they are first read: no row reads those that another
  // writes.
  attend_all(call,
             {.kv_heads = paged.pools.kv_heads(),
              .columns = paged.capacity(),
              .head =
                  [&](std::int64_t row, std::int64_t kv_head, float*) {
                    write(call, paged, row, kv_head, functions);
                    return paged.pools.head(kv_head, paged.pages_of(row));
                  },
              .seen = seen_positions(call, paged)},
             paged.pools.loops(functions));
  return {};
}

Status PagedAttention::run(Arguments& arguments) {
  return paged_attention(arguments, fastest_attend_functions());
}

}  // namespace polystate
