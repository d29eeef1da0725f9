#include "kernels/attention/page_pools.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "kernels/attention/attend.h"
#include "kernels/requirements.h"

namespace polystate {

void PagePools::require(Requirements& require) const {
  require.floats(key, 4);
  require.floats(value, 4);
  require.shape(value, {pages(), kv_heads(), page(), -1});
  require.holds(page() > 0, "pages of 0 positions");
  require.holds(kv_heads() > 0, "pages of 0 heads");
  require.holds(value_dim() > 0, "values of 0 elements");
}

HeadPages PagePools::head(std::int64_t kv_head, const std::int64_t* pages) const {
  return {
      .keys = key.tensor.data<float>() + kv_head * head_dim() * page(),
      .values = value.tensor.data<float>() + kv_head * page() * value_dim(),
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
                     const NewPositions& positions) {
  const std::int64_t page = pools.page();
  assert(page > 0);  // or the pools were refused
  const std::int64_t heads = pools.kv_heads();
  const std::int64_t head_dim = pools.head_dim();
  const std::int64_t value_dim = pools.value_dim();
  auto* const keys = pools.key.tensor.mutable_data<float>();
  auto* const values = pools.value.tensor.mutable_data<float>();
  for (std::int64_t i = 0; i < positions.count; ++i) {
    const std::int64_t slot = (positions.first + i) % page;
    const std::int64_t head = pages[(positions.first + i) / page] * heads + kv_head;
    const float* const key = positions.key + (i * heads + kv_head) * head_dim;
    float* const to = keys + head * head_dim * page + slot;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      to[d * page] = key[d];
    }
    const float* const value = positions.value + (i * heads + kv_head) * value_dim;
    std::copy_n(value, value_dim, values + (head * page + slot) * value_dim);
  }
}

}  // namespace polystate
