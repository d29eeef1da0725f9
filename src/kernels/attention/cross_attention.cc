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
  NamedTensor cross_table;
  NamedTensor lengths;
  NamedTensor rows;

  [[nodiscard]] std::int64_t capacity() const { return cross_table.tensor.size(1) * pools.page(); }
  [[nodiscard]] std::int64_t row(std::int64_t token) const {
    return integers_of(rows.tensor)[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] std::int64_t length(std::int64_t row) const {
    return integers_of(lengths.tensor)[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] const std::int64_t* pages_of(std::int64_t row) const {
    return integers_of(cross_table.tensor).data() + row * cross_table.tensor.size(1);
  }
};

Status check(Requirements& require, AttentionCall& call, const Cross& cross) {
  const PagePools& pools = cross.pools;
  const std::int64_t rows = cross.cross_table.tensor.size(0);
  require.floats(call.query, 3);
  pools.require(require);
  require.integers(cross.cross_table, 2);
  require.indices(cross.cross_table, pools.pages());
  require.integers(cross.lengths, 1);
  require.shape(cross.lengths, {rows});
  require.between(cross.lengths, 0, cross.capacity());
  require.integers(cross.rows, 1);
  require.shape(cross.rows, {call.tokens()});
  require.indices(cross.rows, rows);
  call.require(require, {cross.capacity(), pools.kv_heads(), pools.head_dim(), pools.value_dim()});
  return require.status();
}

std::vector<PositionRange> seen_positions(const AttentionCall& call, const Cross& cross) {
  std::vector<PositionRange> seen;
  seen.reserve(static_cast<std::size_t>(call.tokens()));
  for (std::int64_t token = 0; token < call.tokens(); ++token) {
    seen.push_back({0, cross.length(cross.row(token))});
  }
  return seen;
}

// Whether two rows read the same text, as the beams of one do.
bool have_one_text(const Cross& cross, std::int64_t row, std::int64_t other) {
  const std::int64_t page = cross.pools.page();
  assert(page > 0);  // or the pools were refused
  const std::int64_t length = cross.length(row);
  const std::int64_t* const own = cross.pages_of(row);
  return row == other || (length == cross.length(other) &&
                          std::equal(own, own + (length + page - 1) / page, cross.pages_of(other)));
}

}  // namespace

Status cross_attention(Arguments& arguments, const AttendFunctions& functions) {
  const Cross cross{
      .pools = {{"key_pool", arguments.tensor(1)}, {"value_pool", arguments.tensor(2)}},
      .cross_table = {"cross_table", arguments.tensor(3)},
      .lengths = {"lengths", arguments.tensor(4)},
      .rows = {"rows", arguments.tensor(5)}};
  AttentionCall call{.query = {"query", arguments.tensor(0)},
                     .bias = arguments.optional_tensor(6),
                     .sinks = {},
                     .options = {arguments.number(7), arguments.number(8)},
                     .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, cross); !checked) {
    return checked;
  }
  attend_all(
      call,
      {.kv_heads = cross.pools.kv_heads(),
       .columns = cross.capacity(),
       .head = [&](std::int64_t token, std::int64_t kv_head,
                   float*) { return cross.pools.head(kv_head, cross.pages_of(cross.row(token))); },
       .seen = seen_positions(call, cross),
       .runs = token_runs(call.tokens(), cross.pools.kv_heads(),
                          [&](std::int64_t token) {
                            return have_one_text(cross, cross.row(token), cross.row(token - 1));
                          })},
      cross.pools.loops(functions));
  return {};
}

Status CrossAttention::run(Arguments& arguments) {
  return cross_attention(arguments, fastest_attend_functions());
}

}  // namespace polystate
