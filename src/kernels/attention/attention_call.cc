#include "kernels/attention/attention_call.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attention/attend.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

// Multiplications that are worth a thread of their own: some ten microseconds.
constexpr std::int64_t kGrain = 65'536;

// The queries of one kv head in a row: every token's, for each query head that it serves.
class HeadQueries {
 public:
  HeadQueries(const AttentionCall& call, const AttentionSource& source)
      : call_(call), source_(source), group_(call.heads() / source.kv_heads) {}

  [[nodiscard]] std::int64_t count() const { return call_.tokens() * group_; }

  // The query at `index` of those of the rows from `first` on.
  [[nodiscard]] HeadQuery at(std::int64_t first, std::int64_t kv_head, std::int64_t index) const {
    const std::int64_t row = first + index / count();
    const std::int64_t token = index % count() / group_;
    const std::int64_t head = kv_head * group_ + index % group_;
    const std::int64_t place = (row * call_.tokens() + token) * call_.heads() + head;
    const TensorArgument& query = call_.query.tensor;
    return {
        .query = query.data<float>() + place * query.size(3),
        .bias = bias(row, head, token),
        .sink = call_.sinks ? call_.sinks->data<float>() + head : nullptr,
        .out = call_.out.mutable_data<float>() + place * call_.out.size(3),
        .seen = source_.seen[static_cast<std::size_t>(row * call_.tokens() + token)],
    };
  }

 private:
  [[nodiscard]] const float* bias(std::int64_t row, std::int64_t head, std::int64_t token) const {
    if (!call_.bias) {
      return nullptr;
    }
    const TensorArgument& bias = *call_.bias;
    const std::int64_t outer = bias.size(0) == 1 ? 0 : row;
    const std::int64_t inner = bias.size(1) == 1 ? 0 : head;
    return bias.data<float>() +
           ((outer * bias.size(1) + inner) * bias.size(2) + token) * bias.size(3);
  }

  const AttentionCall& call_;
  const AttentionSource& source_;
  std::int64_t group_;
};

std::int64_t count_runs(const AttentionCall& call, const AttentionSource& source) {
  return source.runs.empty() ? call.rows() : static_cast<std::int64_t>(source.runs.size());
}

// The first row of a run, and the row behind it.
std::pair<std::int64_t, std::int64_t> rows_of(const AttentionCall& call,
                                              const AttentionSource& source, std::int64_t run) {
  if (source.runs.empty()) {
    return {run, run + 1};
  }
  const auto next = static_cast<std::size_t>(run) + 1;
  return {source.runs[next - 1], next < source.runs.size() ? source.runs[next] : call.rows()};
}

// Attends for the kv heads first to last - 1 of all runs of rows, run after run.
void attend_heads(const AttentionCall& call, const AttentionSource& source, AttendFunction attend,
                  std::int64_t first, std::int64_t last) {
  const HeadQueries queries(call, source);
  const std::int64_t stride = attend_stride(source.columns);
  std::vector<float> scratch(static_cast<std::size_t>(kMaxQueries * stride));
  std::vector<float> packed(static_cast<std::size_t>(source.packed_floats));
  for (std::int64_t task = first; task < last; ++task) {
    const auto [row, end] = rows_of(call, source, task / source.kv_heads);
    const std::int64_t kv_head = task % source.kv_heads;
    const HeadPages pages = source.head(row, kv_head, packed.data());
    const std::int64_t all = (end - row) * queries.count();
    for (std::int64_t i = 0; i < all; i += kMaxQueries) {
      std::array<HeadQuery, kMaxQueries> block{};
      const std::int64_t count = std::min(kMaxQueries, all - i);
      for (std::int64_t k = 0; k < count; ++k) {
        block[static_cast<std::size_t>(k)] = queries.at(row, kv_head, i + k);
      }
      attend(pages, call.options, block.data(), count, {scratch.data(), stride});
    }
  }
}

// Multiplications of an average kv head of a run.
std::int64_t work_of_a_head(const AttentionCall& call, const AttentionSource& source) {
  std::int64_t seen = 0;
  for (const PositionRange& range : source.seen) {
    seen += range.last - range.first;
  }
  const std::int64_t dims = call.query.tensor.size(3) + call.out.size(3);
  return 1 + seen * dims * call.heads() /
                 std::max<std::int64_t>(source.kv_heads * count_runs(call, source), 1);
}

}  // namespace

void AttentionCall::require(Requirements& require, const Keys& keys) {
  require.shape(query, {-1, -1, -1, keys.head_dim});
  require.holds(keys.kv_heads > 0 && heads() % std::max<std::int64_t>(keys.kv_heads, 1) == 0,
                "query has " + std::to_string(heads()) + " heads, which is not a multiple of the " +
                    std::to_string(keys.kv_heads) + " of the keys");
  if (bias) {
    const NamedTensor named{"bias", *bias};
    require.floats(named, 4);
    require.shape(named, {bias->size(0) == 1 ? 1 : rows(), bias->size(1) == 1 ? 1 : heads(),
                          tokens(), keys.columns});
  }
  if (sinks) {
    require.floats({"sinks", *sinks}, 1);
    require.shape({"sinks", *sinks}, {heads()});
  }
  out = require.result(DType::kFloat32, std::array{rows(), tokens(), heads(), keys.value_dim});
}

void attend_all(const AttentionCall& call, const AttentionSource& source, AttendFunction attend) {
  const std::int64_t tasks = count_runs(call, source) * source.kv_heads;
  if (call.out.element_count() == 0) {
    return;
  }
  const std::int64_t grain = 1 + kGrain / work_of_a_head(call, source);
  parallel_for(tasks, grain, [&](std::int64_t first, std::int64_t last) {
    attend_heads(call, source, attend, first, last);
  });
}

}  // namespace polystate
