#include "kernels/attention_case.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "core/half.h"
#include "kernels/arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/operators.h"
#include "kernels/kernel_call.h"
#include "kernels/operators.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
Tensor random_floats(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const std::int64_t count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&] { return normal(generator); });
  return Tensor::of(shape, values).value();
}

Tensor halves(const Tensor& numbers) {
  Tensor rounded = Tensor::empty(DType::kFloat16, numbers.shape()).value();
  auto* const bits = reinterpret_cast<std::uint16_t*>(rounded.mutable_bytes().data());
  std::ranges::transform(numbers.values<float>(), bits, float_to_float16);
  return rounded;
}

Tensor widened(const Tensor& numbers) {
  const std::span bits(reinterpret_cast<const std::uint16_t*>(numbers.bytes().data()),
                       numbers.element_count());
  std::vector<float> values(bits.size());
  std::ranges::transform(bits, values.begin(), float16_to_float);
  return Tensor::of(numbers.shape(), values).value();
}

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values).value();
}

AttentionCase AttentionCase::of_tokens(const AttentionSizes& s) {
  AttentionCase result = of_rows(s);
  const std::int64_t tokens = s.rows * s.tokens;
  const std::int64_t free = s.row_pages * s.page - s.tokens;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t token = 0; token < s.tokens; ++token) {
      positions.push_back(row * free / std::max<std::int64_t>(s.rows - 1, 1) + token);
      rows.push_back(row);
    }
  }
  result.query = random_floats({tokens, s.heads, s.head_dim}, 1);
  result.key = random_floats({tokens, s.kv_heads, s.head_dim}, 2);
  result.value = random_floats({tokens, s.kv_heads, s.value_dim}, 3);
  result.positions = integers(positions);
  result.rows = integers(rows);
  result.out = Tensor::empty(DType::kFloat32, {tokens, s.heads, s.value_dim}).value();
  return result;
}

AttentionCase AttentionCase::of_rows(const AttentionSizes& s) {
  const std::int64_t pages = s.rows * s.row_pages + 1;
  std::vector<std::int64_t> table(static_cast<std::size_t>(s.rows * s.row_pages));
  std::iota(table.begin(), table.end(), 1);
  std::ranges::reverse(table);
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(s.rows));
  for (std::int64_t row = 0; row < s.rows; ++row) {
    lengths.push_back(1 + row * (s.tokens - 1) / std::max<std::int64_t>(s.rows - 1, 1));
  }
  return {
      .query = random_floats({s.rows, s.tokens, s.heads, s.head_dim}, 1),
      .key = random_floats({s.rows, s.tokens, s.kv_heads, s.head_dim}, 2),
      .value = random_floats({s.rows, s.tokens, s.kv_heads, s.value_dim}, 3),
      .key_pool = random_floats({pages, s.kv_heads, s.head_dim, s.page}, 4),
      .value_pool = random_floats({pages, s.kv_heads, s.page, s.value_dim}, 5),
      .page_table = Tensor::of({s.rows, s.row_pages}, table).value(),
      .positions = integers({}),
      .rows = integers({}),
      .lengths = integers(lengths),
      .source = integers({1, 1}),
      .target = integers({2, 0}),
      .bias = {},
      .sinks = {},
      .out = Tensor::empty(DType::kFloat32, {s.rows, s.tokens, s.heads, s.value_dim}).value(),
  };
}

AttentionCase AttentionCase::with_half_pools() const {
  AttentionCase result = *this;
  result.key_pool = halves(key_pool);
  result.value_pool = halves(value_pool);
  return result;
}

Result<Tensor> AttentionCase::paged(const AttendFunctions& functions) const {
  KernelCall call("");
  call.tensor(query).tensor(key).tensor(value).tensor(key_pool).tensor(value_pool);
  call.tensor(page_table).tensor(positions).tensor(rows).optional(bias).optional(sinks);
  call.number(scale).number(softcap).integer(window);
  return call.into(out, [&](Arguments& given) { return paged_attention(given, functions); });
}

Result<Tensor> AttentionCase::cross(const AttendFunctions& functions) const {
  KernelCall call("");
  call.tensor(query).tensor(key_pool).tensor(value_pool).tensor(page_table).tensor(lengths);
  call.tensor(rows).optional(bias).number(scale).number(softcap);
  return call.into(out, [&](Arguments& given) { return cross_attention(given, functions); });
}

Result<Tensor> AttentionCase::dense(const AttendFunctions& functions) const {
  KernelCall call("");
  call.tensor(query).tensor(key).tensor(value).optional(lengths).optional(bias).optional(sinks);
  call.number(scale).number(softcap).integer(window).boolean(causal);
  return call.into(out, [&](Arguments& given) { return dense_attention(given, functions); });
}

Result<Tensor> AttentionCase::write_pages() const {
  KernelCall call("");
  call.tensor(key).tensor(value).tensor(key_pool).tensor(value_pool).tensor(page_table);
  call.tensor(lengths);
  return call.into(Tensor::empty(DType::kInt64, lengths.shape()).value(), &WritePages::run);
}

Result<Tensor> AttentionCase::copy_pages() const {
  KernelCall call("");
  call.tensor(key_pool).tensor(value_pool).tensor(source).tensor(target);
  return call.into(Tensor::empty(DType::kInt64, target.shape()).value(), &CopyPages::run);
}

}  // namespace polystate
