#include "runner/cache/page_table.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/page_pool.h"

namespace polystate {

PageTable::PageTable(PageTable&& other) noexcept
    : pool_(other.pool_),
      page_size_(other.page_size_),
      length_(std::exchange(other.length_, 0)),
      pages_(std::exchange(other.pages_, {})) {}

PageTable& PageTable::operator=(PageTable&& other) noexcept {
  if (this == &other) return *this;
  clear();
  pool_ = other.pool_;
  page_size_ = other.page_size_;
  length_ = std::exchange(other.length_, 0);
  pages_ = std::exchange(other.pages_, {});
  return *this;
}

PageTable PageTable::sharing(PagePool& pool, std::int64_t page_size,
                             std::span<const PageId> pages) {
  PageTable table(pool, page_size);
  table.pages_.assign(pages.begin(), pages.end());
  table.length_ = std::ssize(pages) * page_size;
  for (const PageId page : pages) pool.share(page);
  return table;
}

PageTable PageTable::fork() const {
  PageTable other(*pool_, page_size_);
  other.length_ = length_;
  other.pages_ = pages_;
  for (const PageId page : pages_) pool_->share(page);
  return other;
}

void PageTable::rewind(std::int64_t length) {
  assert(length >= 0 && length <= length_);
  const auto kept = static_cast<std::size_t>((length + page_size_ - 1) / page_size_);
  for (std::size_t i = kept; i < pages_.size(); ++i) pool_->release(pages_[i]);
  pages_.resize(kept);
  length_ = length;
}

Status PageTable::fill(std::int64_t count) {
  assert(length_ == 0);
  for (; length_ < count; length_ += page_size_) {
    const Result<PageId> page = pool_->take();
    if (!page) {
      clear();
      return page.error();
    }
    pages_.push_back(*page);
  }
  length_ = count;
  return {};
}

// Appends, and can take it back.
class PageAppender {
 public:
  explicit PageAppender(std::vector<PageCopy>& copies) : copies_(copies) {}

  // On error the table is as it was.
  Status append(const PageAppend& append) {
    PageTable& table = *append.table;
    const std::int64_t length = table.length_ + append.count;
    if (Status own = own_last_page(table); !own) return own;
    while (std::ssize(table.pages_) * table.page_size_ < length) {
      const Result<PageId> page = table.pool_->take();
      if (!page) {
        shrink(table, table.length_);
        return page.error();
      }
      table.pages_.push_back(*page);
    }
    table.length_ = length;
    return {};
  }

  // Undoes the last append.
  void undo(const PageAppend& append) {
    shrink(*append.table, append.table->length_ - append.count);
  }

 private:
  // Exchanges a last page that is partly filled and shared.
  Status own_last_page(PageTable& table) {
    if (table.length_ % table.page_size_ == 0 || !table.pool_->is_shared(table.pages_.back())) {
      return {};
    }
    const Result<PageId> page = table.pool_->take();
    if (!page) return page.error();
    copies_.push_back({table.pages_.back(), *page});
    table.pool_->release(table.pages_.back());  // another table keeps it
    table.pages_.back() = *page;
    return {};
  }

  // Gives back the pages past `length`, and what the last one there was exchanged for.
  void shrink(PageTable& table, std::int64_t length) {
    table.rewind(length);
    if (copies_.empty() || table.pages_.empty() || copies_.back().target != table.pages_.back()) {
      return;
    }
    table.pool_->share(copies_.back().source);
    table.pool_->release(table.pages_.back());
    table.pages_.back() = copies_.back().source;
    copies_.pop_back();
  }

  std::vector<PageCopy>& copies_;
};

Status append_positions(std::span<const PageAppend> appends, std::vector<PageCopy>& copies) {
  copies.clear();
  PageAppender appender(copies);
  for (std::size_t i = 0; i < appends.size(); ++i) {
    if (Status appended = appender.append(appends[i]); !appended) {
      while (i-- > 0) appender.undo(appends[i]);
      return appended;
    }
  }
  return {};
}

}  // namespace polystate
