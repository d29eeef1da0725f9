#include "runner/model/cache_content.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "runner/cache/page_pool.h"
#include "runner/model/method_session.h"

namespace polystate {

std::string_view copy_method(std::size_t kind) {
  return kind == 0 ? "copy_pages" : "copy_window_pages";
}

CacheContent::CacheContent(const Manifest& manifest, MethodSession& session, std::size_t kinds)
    : session_(session), pools_(kinds) {
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const Result<std::size_t> method = manifest.method_index(copy_method(kind));
    assert(method);  // or ModelLimits::read refused the model
    for (const StateWrite& write : manifest.methods[*method].writes) {
      const StateSpec& state = manifest.state[write.state];
      if (state.shape.empty()) continue;  // it has no pages
      pools_[kind].push_back({state.name, state.dtype, state.shape});
    }
  }
}

std::size_t CacheContent::page_bytes(std::size_t kind) const {
  std::size_t bytes = 0;
  for (const Pool& pool : pools_[kind]) bytes += bytes_of(pool, 1);
  return bytes;
}

Status CacheContent::read(std::size_t kind, std::span<const PageId> pages,
                          std::vector<std::byte>& bytes) {
  for (const Pool& pool : pools_[kind]) {
    const Result<Tensor> values = session_.read_rows(pool.state, pages);
    if (!values) return values.error();
    bytes.insert(bytes.end(), values->bytes().begin(), values->bytes().end());
  }
  return {};
}

Status CacheContent::write(std::size_t kind, std::span<const PageId> pages,
                           std::span<const std::byte> bytes) {
  assert(bytes.size() == pages.size() * page_bytes(kind));
  for (const Pool& pool : pools_[kind]) {
    const std::size_t size = bytes_of(pool, pages.size());
    const Result<Tensor> values =
        Tensor::copy_of(pool.dtype, shape_of(pool, pages.size()), bytes.first(size));
    if (!values) return values.error();
    if (Status done = session_.write_rows(pool.state, pages, *values); !done) return done;
    bytes = bytes.subspan(size);
  }
  return {};
}

Shape CacheContent::shape_of(const Pool& pool, std::size_t pages) {
  Shape shape = pool.shape;
  shape.front() = static_cast<std::int64_t>(pages);
  return shape;
}

std::size_t CacheContent::bytes_of(const Pool& pool, std::size_t pages) {
  return size_of(pool.dtype) * element_count(pool.dtype, shape_of(pool, pages)).value_or(0);
}

}  // namespace polystate
