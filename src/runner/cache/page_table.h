#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/page_pool.h"

namespace polystate {

// The positions of one sequence, as pages of a pool. It releases them when it is destroyed, and is
// used within the lifetime of the object that owns its pool.
class PageTable {
 public:
  PageTable(PagePool& pool, std::int64_t page_size) : pool_(&pool), page_size_(page_size) {}
  PageTable(PageTable&& other) noexcept;
  PageTable& operator=(PageTable&& other) noexcept;
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;
  ~PageTable() { clear(); }

  // All positions of these pages, which others use, too.
  static PageTable sharing(PagePool& pool, std::int64_t page_size, std::span<const PageId> pages);

  // The same positions, in the same pages.
  [[nodiscard]] PageTable fork() const;
  // Drops the positions from `length` on, which is at most length().
  void rewind(std::int64_t length);
  void clear() { rewind(0); }
  // Appends `count` positions to a table that is empty, in pages of its own. kEngine, and the table
  // stays empty, when the pool has too few.
  Status fill(std::int64_t count);

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::span<const PageId> pages() const { return pages_; }

 private:
  friend class PageAppender;

  PagePool* pool_;
  std::int64_t page_size_;
  std::int64_t length_ = 0;
  std::vector<PageId> pages_;  // ceil(length / page_size)
};

// A whole page that is copied into another.
struct PageCopy {
  PageId source;
  PageId target;
};

// Positions that a sequence is to grow by, for the tokens that it reads next.
struct PageAppend {
  PageTable* table;
  std::int64_t count;  // 1 or more
};

// Appends positions to tables of one pool, each of them once. A last page that is partly filled and
// shared is exchanged for a fresh one; `copies` becomes what must be copied, in any order, before
// anything is written. No page is both a source and a target: a source stays in use by another
// table throughout, a target was free.
//
// With rows * ceil(max_length / page_size) pages, `rows` tables of at most max_length positions
// never run out, however they were forked and however many positions they grow by at once. Before a
// table takes a page, count for each table the pages that it has so far, a shared one each time. No
// table has more than ceil(max_length / page_size); one that starts a page has fewer, and where it
// exchanges one, that page is counted twice. So the pages in use are fewer than there are.
//
// kEngine when the pool runs out; all tables are as they were.
Status append_positions(std::span<const PageAppend> appends, std::vector<PageCopy>& copies);

}  // namespace polystate
