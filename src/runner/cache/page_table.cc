#include "runner/cache/page_table.h"

#include <algorithm>
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
      window_(other.window_),
      length_(std::exchange(other.length_, 0)),
      released_(std::exchange(other.released_, 0)),
      pages_(std::exchange(other.pages_, {})) {}

PageTable& PageTable::operator=(PageTable&& other) noexcept {
  if (this == &other) return *this;
  clear();
  pool_ = other.pool_;
  page_size_ = other.page_size_;
  window_ = other.window_;
  length_ = std::exchange(other.length_, 0);
  released_ = std::exchange(other.released_, 0);
  pages_ = std::exchange(other.pages_, {});
  return *this;
}

void PageTable::share(std::span<const PageId> pages, std::size_t released) {
  assert(length_ == 0 && released <= pages.size());
  pages_.assign(released, 0);
  pages_.insert(pages_.end(), pages.begin() + static_cast<std::ptrdiff_t>(released), pages.end());
  released_ = released;
  length_ = std::ssize(pages) * page_size_;
  for (const PageId page : held_pages()) pool_->share(page);
}

PageTable PageTable::fork() const {
  PageTable other(*pool_, page_size_, window_);
  other.length_ = length_;
  other.released_ = released_;
  other.pages_ = pages_;
  for (const PageId page : held_pages()) pool_->share(page);
  return other;
}

bool PageTable::can_rewind(std::int64_t length) const {
  assert(length >= 0 && length <= length_);
  return length == 0 || first_seen_page(length, window_, page_size_) >= released_;
}

void PageTable::rewind(std::int64_t length) {
  assert(can_rewind(length));
  const auto kept = static_cast<std::size_t>((length + page_size_ - 1) / page_size_);
  for (std::size_t i = std::max(kept, released_); i < pages_.size(); ++i) pool_->release(pages_[i]);
  pages_.resize(kept);
  released_ = std::min(released_, kept);
  length_ = length;
}

void PageTable::release_unseen() {
  const std::size_t first = first_seen_page(length_, window_, page_size_);
  for (; released_ < first; ++released_) {
    pool_->release(std::exchange(pages_[released_], 0));
  }
}

Status PageTable::fill(std::int64_t count, std::size_t released) {
  assert(length_ == 0);
  pages_.assign(released, 0);
  released_ = released;
  for (length_ = std::ssize(pages_) * page_size_; length_ < count; length_ += page_size_) {
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

  // On error the table is as it was, but for pages that are not seen any more.
  Status append(const PageAppend& append) {
    PageTable& table = *append.table;
    const std::int64_t length = table.length_ + append.count;
    table.release_unseen();
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
    const auto held = table.held_pages();
    if (copies_.empty() || held.empty() || copies_.back().target != held.back()) return;
    table.pool_->share(copies_.back().source);
    table.pool_->release(table.pages_.back());
    table.pages_.back() = copies_.back().source;
    copies_.pop_back();
  }

  std::vector<PageCopy>& copies_;
};

std::size_t first_seen_page(std::int64_t position, std::int64_t window, std::int64_t page_size) {
  const bool sees_all = window == 0 || window > position;
  return sees_all ? 0 : static_cast<std::size_t>((position - window + 1) / page_size);
}

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

void undo_append(std::span<const PageAppend> appends, std::vector<PageCopy>& copies) {
  PageAppender appender(copies);
  for (std::size_t i = appends.size(); i-- > 0;) appender.undo(appends[i]);
}

}  // namespace polystate
