#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// Number of a page in a pool of caches.
using PageId = std::int64_t;

// Which pages of a pool are in use, and by how many. It owns no memory: the engine's state has the
// pages themselves.
class PagePool {
 public:
  explicit PagePool(std::int64_t pages);

  // Asks `give_up_page` when a page is needed and none is free: whether it released one. Null: no.
  void when_empty(std::function<bool()> give_up_page) { give_up_page_ = std::move(give_up_page); }

  // A page that nobody uses, for one user. kEngine when all are in use.
  Result<PageId> take();
  // One user more, one user less, of a page in use; the last one frees it.
  void share(PageId page);
  void release(PageId page);

  [[nodiscard]] bool is_shared(PageId page) const { return users_[index(page)] > 1; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(users_.size()); }
  [[nodiscard]] std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  static std::size_t index(PageId page) { return static_cast<std::size_t>(page); }

  std::vector<std::uint32_t> users_;  // of each page
  std::function<bool()> give_up_page_;
  std::vector<PageId> free_;  // the last one freed is taken first: it is still in a cache
};

}  // namespace polystate
