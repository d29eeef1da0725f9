#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
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
struct Cross {
  PagePools pools;
  NamedTensor page_table;
  NamedTensor lengths;

  [[nodiscard]] std::int64_t capacity() const { return page_table.tensor.size(1) * pools.page(); }
  [[nodiscard]] std::int64_t length(std::int64_t row) const {
    return integers_of(lengths.tensor)[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] const std::int64_t* pages_of(std::int64_t row) const {
    return integers_of(page_table.tensor).data() + row * page_table.tensor.size(1);
  }
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

// Rows one after another that read the same text, as the beams of one do.
std::vector<std::int64_t> runs_of(const AttentionCall& call, const Cross& cross) {
  const std::int64_t page = cross.pools.page();
  assert(page > 0);  // or the pools were refused
  std::vector<std::int64_t> runs;
  for (std::int64_t row = 0; row < call.rows(); ++row) {
    const std::int64_t pages = (cross.length(row) + page - 1) / page;
    const std::int64_t* const own = cross.pages_of(row);
    const bool goes_on = row > 0 && cross.length(row) == cross.length(row - 1) &&
                         std::equal(own, own + pages, cross.pages_of(row - 1));
    if (!goes_on) {
      runs.push_back(row);
    }
  }
  return runs;
}

}  // namespace

Status cross_attention(Arguments& arguments, const AttendFunctions& functions) {
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
  attend_all(call,
             {.kv_heads = cross.pools.kv_heads(),
              .columns = cross.capacity(),
              .head = [&](std::int64_t row, std::int64_t kv_head,
                          float*) { return cross.pools.head(kv_head, cross.pages_of(row)); },
              .seen = seen_positions(call, cross),
              .runs = runs_of(call, cross)},
             cross.pools.loops(functions));
  return {};
}

Status CrossAttention::run(Arguments& arguments) {
  return cross_attention(arguments, fastest_attend_functions());
}

}  // namespace polystate
