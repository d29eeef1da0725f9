#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runner/cache/cache_kind.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {

// Which pages of each kind of a model's caches are in use.
class CachePools {
 public:
  CachePools(std::span<const CacheKind> kinds, std::int64_t page_size);
  CachePools(const CachePools&) = delete;
  CachePools& operator=(const CachePools&) = delete;
  ~CachePools() = default;

  // An empty sequence, which is used within the lifetime of the pools.
  [[nodiscard]] CachedSequence new_sequence();

  [[nodiscard]] std::size_t kinds() const { return pools_.size(); }
  [[nodiscard]] PagePool& pool(std::size_t kind) { return pools_[kind]; }
  [[nodiscard]] const PagePool& pool(std::size_t kind) const { return pools_[kind]; }
  [[nodiscard]] std::int64_t window(std::size_t kind) const { return windows_[kind]; }
  [[nodiscard]] std::int64_t page_size() const { return page_size_; }

 private:
  std::int64_t page_size_;
  std::vector<PagePool> pools_;  // of each kind
  std::vector<std::int64_t> windows_;
};

}  // namespace polystate
