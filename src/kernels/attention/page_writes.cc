#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/page_copies.h"
#include "kernels/attention/page_pools.h"
#include "kernels/operators.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Heads of a row whose positions are worth a thread of their own; pages that are worth one.
constexpr std::int64_t kHeadsOfAThread = 16;
constexpr std::int64_t kPagesOfAThread = 4;

void copy_integers(const TensorArgument& from, const TensorArgument& to) {
  std::ranges::copy(integers_of(from), to.mutable_data<std::int64_t>());
}

void copy_page(const TensorArgument& pool, std::int64_t source, std::int64_t target) {
  const std::int64_t size =
      pool.size(1) * pool.size(2) * pool.size(3) * static_cast<std::int64_t>(size_of(pool.dtype()));
  std::byte* const bytes = pool.bytes();
  std::copy_n(bytes + source * size, size, bytes + target * size);
}

// Whether a page is written for two rows, or twice for one.
bool names_a_page_twice(const PagePools& pools, const TensorArgument& table,
                        const TensorArgument& lengths) {
  const std::int64_t row_pages = table.size(1);
  const std::int64_t page_size = std::max<std::int64_t>(pools.page(), 1);
  std::vector<bool> is_named(static_cast<std::size_t>(pools.pages()));
  for (std::int64_t row = 0; row < table.size(0); ++row) {
    const std::int64_t length = integers_of(lengths)[static_cast<std::size_t>(row)];
    const std::int64_t count = (length + page_size - 1) / page_size;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t page = integers_of(table)[static_cast<std::size_t>(row * row_pages + i)];
      if (is_named[static_cast<std::size_t>(page)]) return true;
      is_named[static_cast<std::size_t>(page)] = true;
    }
  }
  return false;
}

}  // namespace

Status WritePages::run(Arguments& arguments) {
  const NamedTensor key{"key", arguments.tensor(0)};
  const NamedTensor value{"value", arguments.tensor(1)};
  const PagePools pools{{"key_pool", arguments.tensor(2)}, {"value_pool", arguments.tensor(3)}};
  const NamedTensor table{"page_table", arguments.tensor(4)};
  const NamedTensor lengths{"lengths", arguments.tensor(5)};
  const std::int64_t rows = key.tensor.size(0);
  const std::int64_t tokens = key.tensor.size(1);
  const std::int64_t row_pages = table.tensor.size(1);
  Requirements require(arguments);
  pools.require(require);
  require.floats(key, 4);
  require.shape(key, {-1, -1, pools.kv_heads(), pools.head_dim()});
  require.floats(value, 4);
  require.shape(value, {rows, tokens, pools.kv_heads(), pools.value_dim()});
  require.integers(table, 2);
  require.shape(table, {rows, -1});
  require.indices(table, pools.pages());
  require.integers(lengths, 1);
  require.shape(lengths, {rows});
  require.between(lengths, 0, std::min(tokens, row_pages * pools.page()));
  const TensorArgument out = require.result(DType::kInt64, std::array{rows});
  if (!require.status()) {
    return require.status();
  }
  const std::int64_t heads = std::max<std::int64_t>(pools.kv_heads(), 1);
  const AttendFunctions functions = fastest_attend_functions();
  const auto write = [&](std::int64_t row, std::int64_t head) {
    const std::int64_t first = row * tokens * heads;
    write_positions(pools, head, integers_of(table.tensor).data() + row * row_pages,
                    {.key = key.tensor.data<float>() + first * pools.head_dim(),
                     .value = value.tensor.data<float>() + first * pools.value_dim(),
                     .first = 0,
                     .count = integers_of(lengths.tensor)[static_cast<std::size_t>(row)]},
                    functions);
  };
  const auto write_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) write(task / heads, task % heads);
  };
  const auto write_heads = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t head = begin; head < end; ++head) {
      for (std::int64_t row = 0; row < rows; ++row) write(row, head);
    }
  };
  // Threads share out the heads alone where rows share a page: each head has the rows in their
  // order then, so that the last one stays, as in the eager form.
  if (names_a_page_twice(pools, table.tensor, lengths.tensor)) {
    parallel_for(heads, 1 + kHeadsOfAThread / (rows + 1), write_heads);
  } else {
    parallel_for(rows * heads, kHeadsOfAThread, write_rows);
  }
  copy_integers(lengths.tensor, out);
  return {};
}

Status CopyPages::run(Arguments& arguments) {
  const PagePools pools{{"key_pool", arguments.tensor(0)}, {"value_pool", arguments.tensor(1)}};
  const PageCopies copies{{"source", arguments.tensor(2)}, {"target", arguments.tensor(3)}};
  const auto& [source, target] = copies;
  Requirements require(arguments);
  pools.require(require);
  copies.require(require);
  require.indices(source, pools.pages());
  require.indices(target, pools.pages());
  if (require.status()) {
    const std::optional<std::string> conflict = copies.conflict();
    require.holds(!conflict, conflict.value_or(""));
  }
  const TensorArgument out = require.result(DType::kInt64, target.tensor.shape());
  if (!require.status()) {
    return require.status();
  }
  const std::int64_t* const from = integers_of(source.tensor).data();
  const std::int64_t* const to = integers_of(target.tensor).data();
  const auto copy = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      copy_page(pools.key.tensor, from[i], to[i]);
      copy_page(pools.value.tensor, from[i], to[i]);
    }
  };
  parallel_for(source.tensor.size(0), kPagesOfAThread, copy);
  copy_integers(target.tensor, out);
  return {};
}

}  // namespace polystate
