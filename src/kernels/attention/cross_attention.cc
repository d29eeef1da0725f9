#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_function.h"
#include "kernels/attention/attention_call.h"
#include "kernels/attention/operators.h"
#include "kernels/attention/page_pools.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// The tensors of a call that are not in its AttentionCall.
struct Cross {
  PagePools pools;
  NamedTensor page_table;
  NamedTensor lengths;

  [[nodiscard]] std::int64_t capacity() const { return page_table.tensor.size(1) * pools.page(); }
};

Status check(Requirements& require, AttentionCall& call, const Cross& cross) {
  const PagePools& pools = cross.pools;
  require.floats(call.query, 4);
  pools.require(require);
  require.integers(cross.page_table, 2);
  require.shape(cross.page_table, {call.rows(), -1});
  require.between(cross.page_table, 0, pools.pages() - 1);
  require.integers(cross.lengths, 1);
  require.shape(cross.lengths, {call.rows()});
  require.between(cross.lengths, 1, cross.capacity());
  call.require(require, {cross.capacity(), pools.kv_heads(), pools.head_dim(), pools.value_dim()});
  return require.status();
}

std::vector<PositionRange> seen_positions(const AttentionCall& call, const Cross& cross) {
  std::vector<PositionRange> seen;
  for (const std::int64_t length : integers_of(cross.lengths.tensor)) {
    seen.insert(seen.end(), static_cast<std::size_t>(call.tokens()), {0, length});
  }
  return seen;
}

}  // namespace

Status cross_attention(Arguments& arguments, AttendFunction attend) {
  const Cross cross{
      .pools = {{"key_pool", arguments.tensor(1)}, {"value_pool", arguments.tensor(2)}},
      .page_table = {"page_table", arguments.tensor(3)},
      .lengths = {"lengths", arguments.tensor(4)}};
  AttentionCall call{.query = {"query", arguments.tensor(0)},
                     .bias = arguments.optional_tensor(5),
                     .sinks = {},
                     .options = {arguments.number(6), arguments.number(7)},
                     .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, cross); !checked) {
    return checked;
  }
  const std::int64_t* const table = integers_of(cross.page_table.tensor).data();
  const std::int64_t row_pages = cross.page_table.tensor.size(1);
  attend_all(call,
             {.kv_heads = cross.pools.kv_heads(),
              .columns = cross.capacity(),
              .head = [&](std::int64_t row, std::int64_t kv_head,
                          float*) { return cross.pools.head(kv_head, table + row * row_pages); },
              .seen = seen_positions(call, cross)},
             attend);
  return {};
}

Status CrossAttention::run(Arguments& arguments) {
  return cross_attention(arguments, fastest_attend_function());
}

}  // namespace polystate
