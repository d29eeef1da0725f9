#include "runner/cache/cache_pools.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runner/cache/cache_kind.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_table.h"

namespace polystate {

CachePools::CachePools(std::span<const CacheKind> kinds, std::int64_t page_size)
    : page_size_(page_size) {
  for (const CacheKind& kind : kinds) {
    pools_.emplace_back(kind.pages);
    windows_.push_back(kind.window);
  }
}

CachedSequence CachePools::new_sequence() {
  std::vector<PageTable> tables;
  tables.reserve(kinds());
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    tables.emplace_back(pools_[kind], page_size_, windows_[kind]);
  }
  return CachedSequence(std::move(tables));
}

}  // namespace polystate
