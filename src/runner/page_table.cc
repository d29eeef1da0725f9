#include "runner/page_table.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/page_pool.h"

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

  Status append(PageTable& table) {
    const bool starts_page = table.length_ % table.page_size_ == 0;
    if (starts_page || table.pool_->is_shared(table.pages_.back())) {
      const Result<PageId> page = table.pool_->take();
      if (!page) return page.error();
      if (starts_page) {
        table.pages_.push_back(*page);
      } else {
        exchange_last(table, *page);
      }
    }
    ++table.length_;
    return {};
  }

  // Undoes the last append, which was to `table`.
  void undo(PageTable& table) {
    if (--table.length_ % table.page_size_ == 0) {
      table.pool_->release(table.pages_.back());
      table.pages_.pop_back();
    } else if (!copies_.empty() && copies_.back().target == table.pages_.back()) {
      table.pool_->release(table.pages_.back());
      table.pool_->share(copies_.back().source);
      table.pages_.back() = copies_.back().source;
      copies_.pop_back();
    }
  }

 private:
  void exchange_last(PageTable& table, PageId page) {
    copies_.push_back({table.pages_.back(), page});
    table.pool_->release(table.pages_.back());  // another table keeps it
    table.pages_.back() = page;
  }

  std::vector<PageCopy>& copies_;
};

Status append_position(std::span<PageTable* const> tables, std::vector<PageCopy>& copies) {
  copies.clear();
  PageAppender appender(copies);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (Status appended = appender.append(*tables[i]); !appended) {
      while (i-- > 0) appender.undo(*tables[i]);
      return appended;
    }
  }
  return {};
}

}  // namespace polystate
