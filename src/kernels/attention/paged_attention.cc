#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attention_call.h"
#include "kernels/attention/operators.h"
#include "kernels/attention/page_pools.h"
#include "kernels/attention/token_places.h"
#include "kernels/operators.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// New positions of a head that are worth a thread of their own.
constexpr std::int64_t kPositionsOfAThread = 128;

// The tensors of a call that are not in its AttentionCall.
struct Paged {
  NamedTensor key;
  NamedTensor value;
  PagePools pools;
  TokenPlaces places;
  std::int64_t window;  // 0: none

  [[nodiscard]] std::int64_t capacity() const { return places.row_pages() * pools.page(); }
};

void require_places(Requirements& require, const TokenPlaces& places) {
  places.require(require);
  if (!require.status()) return;
  const std::optional<std::string> fault = places.misplaced();
  require.holds(!fault, "not every token has a place of its own: " + fault.value_or(""));
}

Status check(Requirements& require, AttentionCall& call, const Paged& paged) {
  const PagePools& pools = paged.pools;
  require.floats(call.query, 3);
  pools.require(require);
  require.integers(paged.places.rows, 1);
  require.shape(paged.places.rows, {call.tokens()});
  require_places(require, paged.places);
  require.indices(paged.places.page_table, pools.pages());
  require.floats(paged.key, 3);
  require.shape(paged.key, {call.tokens(), pools.kv_heads(), pools.head_dim()});
  require.floats(paged.value, 3);
  require.shape(paged.value, {call.tokens(), pools.kv_heads(), pools.value_dim()});
  require.holds(paged.window >= 0, "a window of " + std::to_string(paged.window));
  call.require(require, {paged.capacity(), pools.kv_heads(), pools.head_dim(), pools.value_dim()});
  return require.status();
}

// Writes the new positions of all tokens; a thread has those that it attends from later.
void write_all(const Paged& paged, const std::vector<std::int64_t>& runs,
               const AttendFunctions& functions) {
  const PagePools& pools = paged.pools;
  const std::int64_t heads = pools.kv_heads();
  const auto write = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      const auto run = static_cast<std::size_t>(task / heads);
      for (std::int64_t token = runs[run]; token < runs[run + 1]; ++token) {
        write_positions(
            pools, task % heads, paged.places.pages_of(token),
            {.key = paged.key.tensor.data<float>() + token * heads * pools.head_dim(),
             .value = paged.value.tensor.data<float>() + token * heads * pools.value_dim(),
             .first = paged.places.position(token),
             .count = 1},
            functions);
      }
    }
  };
  const auto count = static_cast<std::int64_t>(runs.size()) - 1;
  parallel_for(count * heads, 1 + kPositionsOfAThread * count / (runs.back() + 1), write);
}

std::vector<PositionRange> seen_positions(const AttentionCall& call, const Paged& paged) {
  std::vector<PositionRange> seen;
  seen.reserve(static_cast<std::size_t>(call.tokens()));
  for (std::int64_t token = 0; token < call.tokens(); ++token) {
    const std::int64_t last = paged.places.position(token) + 1;
    const bool whole = paged.window == 0 || paged.window >= last;
    seen.push_back({whole ? 0 : last - paged.window, last});
  }
  return seen;
}

}  // namespace

Status paged_attention(Arguments& arguments, const AttendFunctions& functions) {
  const PagePools pools{{"key_pool", arguments.tensor(3)}, {"value_pool", arguments.tensor(4)}};
  const Paged paged{.key = {"key", arguments.tensor(1)},
                    .value = {"value", arguments.tensor(2)},
                    .pools = pools,
                    .places = {.page_table = {"page_table", arguments.tensor(5)},
                               .positions = {"positions", arguments.tensor(6)},
                               .rows = {"rows", arguments.tensor(7)},
                               .page = pools.page()},
                    .window = arguments.integer(12)};
  AttentionCall call{.query = {"query", arguments.tensor(0)},
                     .bias = arguments.optional_tensor(8),
                     .sinks = arguments.optional_tensor(9),
                     .options = {arguments.number(10), arguments.number(11)},
                     .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, paged); !checked) {
    return checked;
  }
  const std::vector<std::int64_t> runs = token_runs(
      call.tokens(), paged.pools.kv_heads(),
      [&](std::int64_t token) { return paged.places.row(token) == paged.places.row(token - 1); });
  write_all(paged, runs, functions);
  attend_all(
      call,
      {.kv_heads = paged.pools.kv_heads(),
       .columns = paged.capacity(),
       .head = [&](std::int64_t token, std::int64_t kv_head,
                   float*) { return paged.pools.head(kv_head, paged.places.pages_of(token)); },
       .seen = seen_positions(call, paged),
       .runs = runs},
      paged.pools.loops(functions));
  return {};
}

Status PagedAttention::run(Arguments& arguments) {
  return paged_attention(arguments, fastest_attend_functions());
}

}  // namespace polystate
