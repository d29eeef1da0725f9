#include "kernels/attention/page_pools.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernels/attention/attend.h"
#include "kernels/requirements.h"
#include "kernels/vectors/half.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

// Numbers that are rounded together.
constexpr std::int64_t kTogether = 64;

// Where the positions of one head go, in pools of `Element`.
template <typename Element>
struct Slots {
  Element* keys;  // one for each dimension, `page` apart
  std::int64_t page;
  Element* values;
};

void write_key(const float* key, std::int64_t dims, const AttendFunctions& /*functions*/,
               const Slots<float>& to) {
  for (std::int64_t d = 0; d < dims; ++d) to.keys[d * to.page] = key[d];
}

void write_key(const float* key, std::int64_t dims, const AttendFunctions& functions,
               const Slots<Half>& to) {
  std::array<Half, kTogether> rounded;
  for (std::int64_t first = 0; first < dims; first += kTogether) {
    const std::int64_t count = std::min(kTogether, dims - first);
    functions.to_halves(key + first, count, rounded.data());
    Half* const keys = to.keys + first * to.page;
    for (std::int64_t d = 0; d < count; ++d)
      keys[d * to.page] = rounded[static_cast<std::size_t>(d)];
  }
}

void write_value(const float* value, std::int64_t dims, const AttendFunctions& /*functions*/,
                 const Slots<float>& to) {
  std::copy_n(value, dims, to.values);
}

void write_value(const float* value, std::int64_t dims, const AttendFunctions& functions,
                 const Slots<Half>& to) {
  functions.to_halves(value, dims, to.values);
}

template <typename Element>
void write(const PagePools& pools, std::int64_t kv_head, const std::int64_t* pages,
           const NewPositions& positions, const AttendFunctions& functions) {
  const std::int64_t page = pools.page();
  assert(page > 0);  // or the pools were refused
  const std::int64_t heads = pools.kv_heads();
  const std::int64_t head_dim = pools.head_dim();
  const std::int64_t value_dim = pools.value_dim();
  auto* const keys = reinterpret_cast<Element*>(pools.key.tensor.bytes());
  auto* const values = reinterpret_cast<Element*>(pools.value.tensor.bytes());
  for (std::int64_t i = 0; i < positions.count; ++i) {
    const std::int64_t slot = (positions.first + i) % page;
    const std::int64_t head = pages[(positions.first + i) / page] * heads + kv_head;
    const std::int64_t from = i * heads + kv_head;
    const Slots<Element> to{keys + head * head_dim * page + slot, page,
                            values + (head * page + slot) * value_dim};
    write_key(positions.key + from * head_dim, head_dim, functions, to);
    write_value(positions.value + from * value_dim, value_dim, functions, to);
  }
}

}  // namespace

void PagePools::require(Requirements& require) const {
  for (const NamedTensor& pool : {key, value}) {
    is_half() ? require.halves(pool, 4) : require.floats(pool, 4);
  }
  require.shape(value, {pages(), kv_heads(), page(), -1});
  require.holds(page() > 0, "pages of 0 positions");
  require.holds(kv_heads() > 0, "pages of 0 heads");
  require.holds(value_dim() > 0, "values of 0 elements");
}

HeadPages PagePools::head(std::int64_t kv_head, const std::int64_t* pages) const {
  const auto size = static_cast<std::int64_t>(size_of(key.tensor.dtype()));
  return {
      .keys = key.tensor.bytes() + kv_head * head_dim() * page() * size,
      .values = value.tensor.bytes() + kv_head * page() * value_dim() * size,
      .pages = pages,
      .page = page(),
      .head_dim = head_dim(),
      .value_dim = value_dim(),
      .key_page_stride = kv_heads() * head_dim() * page(),
      .value_page_stride = kv_heads() * page() * value_dim(),
      .value_stride = value_dim(),
  };
}

void write_positions(const PagePools& pools, std::int64_t kv_head, const std::int64_t* pages,
                     const NewPositions& positions, const AttendFunctions& functions) {
  pools.is_half() ? write<Half>(pools, kv_head, pages, positions, functions)
                  : write<float>(pools, kv_head, pages, positions, functions);
}

}  // namespace polystate
