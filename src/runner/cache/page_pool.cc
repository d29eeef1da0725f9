#include "runner/cache/page_pool.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

#include "polystate/core/result.h"

namespace polystate {

PagePool::PagePool(std::int64_t pages)
    : users_(static_cast<std::size_t>(pages), 0), free_(static_cast<std::size_t>(pages)) {
  std::iota(free_.rbegin(), free_.rend(), PageId{0});
}

Result<PageId> PagePool::take() {
  if (free_.empty() && !(give_up_page_ && give_up_page_())) {
    return Error{ErrorCode::kEngine,
                 "the cache's " + std::to_string(size()) + " pages are all in use"};
  }
  const PageId page = free_.back();
  free_.pop_back();
  users_[index(page)] = 1;
  return page;
}

void PagePool::share(PageId page) {
  assert(users_[index(page)] > 0);
  ++users_[index(page)];
}

void PagePool::release(PageId page) {
  assert(users_[index(page)] > 0);
  if (--users_[index(page)] == 0) free_.push_back(page);
}

}  // namespace polystate
