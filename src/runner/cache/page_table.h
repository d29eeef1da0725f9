#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/page_pool.h"

namespace polystate {

// The positions of one sequence, as pages of a pool. It releases them when it is destroyed, and is
// used within the lifetime of the object that owns its pool. Where tokens see a window, pages that
// no later token sees are released when positions are appended.
class PageTable {
 public:
  // `window`: how many of the last positions a token sees, its own included; 0: all.
  PageTable(PagePool& pool, std::int64_t page_size, std::int64_t window = 0)
      : pool_(&pool), page_size_(page_size), window_(window) {}
  PageTable(PageTable&& other) noexcept;
  PageTable& operator=(PageTable&& other) noexcept;
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;
  ~PageTable() { clear(); }

  // Appends all positions of these pages, which others use, too, to a table that is empty. It does
  // without the first `released` of them, which its window does not reach.
  void share(std::span<const PageId> pages, std::size_t released = 0);

  // The same positions, in the same pages.
  [[nodiscard]] PageTable fork() const;
  // Whether it holds all that a token at position `length` sees, which is at most length().
  [[nodiscard]] bool can_rewind(std::int64_t length) const;
  // Drops the positions from `length` on, where it can.
  void rewind(std::int64_t length);
  void clear() { rewind(0); }
  // Appends `count` positions to a table that is empty, in pages of its own, without the first
  // `released` of them. kEngine, and the table stays empty, when the pool has too few.
  Status fill(std::int64_t count, std::size_t released = 0);

  [[nodiscard]] std::int64_t length() const { return length_; }
  // ceil(length / page size) pages. The first `released()` of them are 0, and are not its own.
  [[nodiscard]] std::span<const PageId> pages() const { return pages_; }
  [[nodiscard]] std::size_t released() const { return released_; }
  [[nodiscard]] std::span<const PageId> held_pages() const { return pages().subspan(released_); }

 private:
  friend class PageAppender;

  // Releases the pages that a token at position length(), or later, does not see.
  void release_unseen();

  PagePool* pool_;
  std::int64_t page_size_;
  std::int64_t window_;
  std::int64_t length_ = 0;
  std::size_t released_ = 0;
  std::vector<PageId> pages_;
};

// The first page that a token at `position` sees a part of, by a window as PageTable's.
std::size_t first_seen_page(std::int64_t position, std::int64_t window, std::int64_t page_size);

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
// With rows * n pages `rows` tables never run out that have at most n pages each, however they were
// forked and however many positions they grow by at once; n is ceil(max_length / page_size), or
// what pages_of_window says. Before a table takes a page, count for each table the pages that it
// has so far, a shared one each time. No table has more than n; one that starts a page has fewer,
// and where it exchanges one, that page is counted twice. So the pages in use are fewer than there
// are.
//
// kEngine when the pool runs out; all tables are as they were, but for pages that are not seen any
// more.
Status append_positions(std::span<const PageAppend> appends, std::vector<PageCopy>& copies);
// Takes the last append_positions back.
void undo_append(std::span<const PageAppend> appends, std::vector<PageCopy>& copies);

}  // namespace polystate
