#include "kernels/attention/attention_call.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
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

// Tokens of a run at the most, for each of its kv heads: a thread of several has a head to itself,
// whose keys and values stay near it.
constexpr std::int64_t kTokensOfAHead = 16;

// The queries of one kv head: every token's, for each query head that it serves.
class HeadQueries {
 public:
  HeadQueries(const AttentionCall& call, const AttentionSource& source)
      : call_(call), source_(source), group_(call.heads() / source.kv_heads) {}

  [[nodiscard]] std::int64_t of_tokens(std::int64_t count) const { return count * group_; }

  // The query at `index` of those of the tokens from `first` on.
  [[nodiscard]] HeadQuery at(std::int64_t first, std::int64_t kv_head, std::int64_t index) const {
    const std::int64_t token = first + index / group_;
    const std::int64_t head = kv_head * group_ + index % group_;
    const std::int64_t place = token * call_.heads() + head;
    return {
        .query = call_.query.tensor.data<float>() + place * call_.head_dim(),
        .bias = bias(token, head),
        .sink = call_.sinks ? call_.sinks->data<float>() + head : nullptr,
        .out = call_.out.mutable_data<float>() + place * call_.value_dim(),
        .seen = source_.seen[static_cast<std::size_t>(token)],
    };
  }

 private:
  [[nodiscard]] const float* bias(std::int64_t token, std::int64_t head) const {
    if (!call_.bias) {
      return nullptr;
    }
    const TensorArgument& bias = *call_.bias;
    const std::int64_t tokens = bias.size(2);
    assert(tokens > 0);  // or there is no query
    const std::int64_t outer = bias.size(0) == 1 ? 0 : token / tokens;
    const std::int64_t inner = bias.size(1) == 1 ? 0 : head;
    return bias.data<float>() +
           ((outer * bias.size(1) + inner) * tokens + token % tokens) * bias.size(3);
  }

  const AttentionCall& call_;
  const AttentionSource& source_;
  std::int64_t group_;
};

std::int64_t count_runs(const AttentionSource& source) {
  return static_cast<std::int64_t>(source.runs.size()) - 1;
}

// Attends for the kv heads first to last - 1 of all runs of tokens, run after run.
void attend_heads(const AttentionCall& call, const AttentionSource& source, AttendFunction attend,
                  std::int64_t first, std::int64_t last) {
  const HeadQueries queries(call, source);
  const std::int64_t stride = attend_stride(source.columns);
  std::vector<float> scratch(static_cast<std::size_t>(kMaxQueries * stride));
  std::vector<float> packed(static_cast<std::size_t>(source.packed_floats));
  for (std::int64_t task = first; task < last; ++task) {
    const auto run = static_cast<std::size_t>(task / source.kv_heads);
    const std::int64_t token = source.runs[run];
    const std::int64_t kv_head = task % source.kv_heads;
    const HeadPages pages = source.head(token, kv_head, packed.data());
    const std::int64_t all = queries.of_tokens(source.runs[run + 1] - token);
    for (std::int64_t i = 0; i < all; i += kMaxQueries) {
      std::array<HeadQuery, kMaxQueries> block{};
      const std::int64_t count = std::min(kMaxQueries, all - i);
      for (std::int64_t k = 0; k < count; ++k) {
        block[static_cast<std::size_t>(k)] = queries.at(token, kv_head, i + k);
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
  const std::int64_t dims = call.head_dim() + call.value_dim();
  return 1 + seen * dims * call.heads() / (source.kv_heads * count_runs(source));
}

// A shape with another last size.
std::vector<std::int64_t> with_last(std::span<const std::int64_t> shape, std::int64_t size) {
  std::vector<std::int64_t> result(shape.begin(), shape.end());
  if (!result.empty()) result.back() = size;
  return result;
}

}  // namespace

void AttentionCall::require(Requirements& require, const Keys& keys) {
  require.shape(query, with_last(query.tensor.shape(), keys.head_dim));
  require.holds(keys.kv_heads > 0 && heads() % std::max<std::int64_t>(keys.kv_heads, 1) == 0,
                "query has " + std::to_string(heads()) + " heads, which is not a multiple of the " +
                    std::to_string(keys.kv_heads) + " of the keys");
  if (bias) {
    const NamedTensor named{"bias", *bias};
    require.floats(named, 4);
    require.shape(named, {bias->size(0) == 1 ? 1 : batch(), bias->size(1) == 1 ? 1 : heads(),
                          tokens_of_one(), keys.columns});
  }
  if (sinks) {
    require.floats({"sinks", *sinks}, 1);
    require.shape({"sinks", *sinks}, {heads()});
  }
  out = require.result(DType::kFloat32, with_last(query.tensor.shape(), keys.value_dim));
}

std::vector<std::int64_t> token_runs(std::int64_t tokens, std::int64_t kv_heads,
                                     const std::function<bool(std::int64_t token)>& goes_on) {
  std::vector<std::int64_t> runs = {0};
  for (std::int64_t token = 1; token < tokens; ++token) {
    if (token - runs.back() == kTokensOfAHead * kv_heads || !goes_on(token)) runs.push_back(token);
  }
  runs.push_back(tokens);
  return runs;
}

void attend_all(const AttentionCall& call, const AttentionSource& source, AttendFunction attend) {
  if (call.out.element_count() == 0) {
    return;
  }
  const std::int64_t tasks = count_runs(source) * source.kv_heads;
  const std::int64_t grain = 1 + kGrain / work_of_a_head(call, source);
  parallel_for(tasks, grain, [&](std::int64_t first, std::int64_t last) {
    attend_heads(call, source, attend, first, last);
  });
}

}  // namespace polystate
