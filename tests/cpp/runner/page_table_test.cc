#include "runner/cache/page_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/page_pool.h"

namespace polystate {
namespace {

constexpr std::size_t kRows = 7;
constexpr std::int64_t kPageSize = 4;
constexpr std::int64_t kMaxLength = 18;  // in part of a last page
constexpr std::int64_t kPages = 35;      // what append_positions says is enough

// Sequences over a pool, beside plain copies of what they hold.
class PagedRows {
 public:
  explicit PagedRows(unsigned seed) : random_(seed), memory_(kPages * kPageSize, -1) {
    rows_.emplace_back(PageTable(pool_, kPageSize), std::vector<int>());
  }

  void step() {
    switch (random_() % 6) {
      case 0:
        return fork();
      case 1:
        return rewind();
      case 2:
        return release();
      default:
        return append();
    }
  }

  void check() {
    std::set<PageId> used;
    for (const auto& [table, plain] : rows_) {
      ASSERT_EQ(table.length(), static_cast<std::int64_t>(plain.size()));
      for (std::size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(at(table, static_cast<std::int64_t>(i)), plain[i]);
      }
      used.insert(table.pages().begin(), table.pages().end());
    }
    ASSERT_EQ(pool_.free_pages(), kPages - static_cast<std::int64_t>(used.size()));
  }

  void clear() { rows_.clear(); }
  [[nodiscard]] const PagePool& pool() const { return pool_; }

 private:
  std::size_t any_row() { return random_() % rows_.size(); }

  int& at(const PageTable& table, std::int64_t position) {
    const PageId page = table.pages()[static_cast<std::size_t>(position / kPageSize)];
    return memory_[static_cast<std::size_t>(page * kPageSize + position % kPageSize)];
  }

  void fork() {
    if (rows_.size() == kRows) return;
    const auto& [table, plain] = rows_[any_row()];
    auto copy = plain;
    rows_.emplace_back(table.fork(), std::move(copy));
  }

  void rewind() {
    auto& [table, plain] = rows_[any_row()];
    plain.resize(random_() % (plain.size() + 1));
    table.rewind(static_cast<std::int64_t>(plain.size()));
  }

  void release() {
    if (rows_.size() > 1) rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(any_row()));
  }

  // Appends to some of the rows, one position or several, as a step of a decoder does.
  void append() {
    std::vector<PageAppend> appends;
    std::vector<std::vector<int>*> plains;
    for (auto& [table, plain] : rows_) {
      const std::int64_t left = kMaxLength - table.length();
      if (left == 0 || random_() % 4 == 0) continue;
      const auto several = static_cast<std::int64_t>(random_() % 10);
      appends.push_back({&table, std::min(left, several < 6 ? 1 : several)});
      plains.push_back(&plain);
    }
    std::vector<PageCopy> copies;
    const Status appended = append_positions(appends, copies);
    ASSERT_TRUE(appended) << appended.error().message;
    apply(copies);
    for (std::size_t i = 0; i < appends.size(); ++i) {
      const auto& [table, count] = appends[i];
      for (std::int64_t position = table->length() - count; position < table->length();
           ++position) {
        plains[i]->push_back(next_value_);
        at(*table, position) = next_value_++;
      }
    }
  }

  // In any order, each page read before one is written: both at once, as an operator may.
  void apply(const std::vector<PageCopy>& copies) {
    std::set<PageId> targets;
    for (const PageCopy& copy : copies) ASSERT_TRUE(targets.insert(copy.target).second);
    for (const PageCopy& copy : copies) {
      ASSERT_FALSE(targets.contains(copy.source));
      std::copy_n(memory_.begin() + copy.source * kPageSize, kPageSize,
                  memory_.begin() + copy.target * kPageSize);
    }
  }

  std::mt19937 random_;
  PagePool pool_{kPages};
  std::vector<int> memory_;
  std::vector<std::pair<PageTable, std::vector<int>>> rows_;
  int next_value_ = 0;
};

TEST(PageTable, HoldsWhatPlainCopiesHoldThroughForksRewindsAppendsAndReleases) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    PagedRows sequences(seed);
    for (int i = 0; i < 3000; ++i) {
      sequences.step();
      sequences.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    sequences.clear();
    EXPECT_EQ(sequences.pool().free_pages(), kPages);
  }
}

// A table of `length` positions over `pool`.
PageTable filled(PagePool& pool, std::int64_t length) {
  PageTable table(pool, kPageSize);
  EXPECT_TRUE(table.fill(length));
  return table;
}

TEST(PageTable, CopiesASharedPageForAllButTheLastThatWritesToIt) {
  PagePool pool(10);
  PageTable first = filled(pool, 6);
  PageTable second = first.fork();
  PageTable third = second.fork();
  EXPECT_EQ(pool.free_pages(), 8);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(
      append_positions(std::vector<PageAppend>{{&first, 1}, {&second, 3}, {&third, 2}}, copies));
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].source, copies[1].source);
  EXPECT_EQ(third.pages()[1], copies[0].source);
  EXPECT_EQ(first.pages()[0], third.pages()[0]);
  EXPECT_EQ(second.pages().size(), 3U);
  EXPECT_EQ(pool.free_pages(), 5);
}

TEST(PageTable, CopiesNothingWhenASharedPageIsFull) {
  PagePool pool(10);
  PageTable first = filled(pool, 8);
  PageTable second = first.fork();
  std::vector<PageCopy> copies;
  ASSERT_TRUE(append_positions(std::vector<PageAppend>{{&first, 1}, {&second, 1}}, copies));
  EXPECT_TRUE(copies.empty());
  EXPECT_NE(first.pages()[2], second.pages()[2]);
}

TEST(PageTable, AnAppendThatRunsOutOfPagesLeavesAllTablesAsTheyWere) {
  PagePool pool(7);
  PageTable first = filled(pool, 6);
  PageTable second = first.fork();
  PageTable full = filled(pool, 8);
  const std::vector<PageId> before(first.pages().begin(), first.pages().end());
  std::vector<PageCopy> copies;
  // Three pages are left: for the copy, the page behind it and one of the two that `full` starts.
  const Status appended =
      append_positions(std::vector<PageAppend>{{&first, 4}, {&second, 1}, {&full, 5}}, copies);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kEngine);
  EXPECT_EQ(appended.error().message, "the cache's 7 pages are all in use");
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(std::vector<PageId>(first.pages().begin(), first.pages().end()), before);
  EXPECT_EQ(std::vector<PageId>(second.pages().begin(), second.pages().end()), before);
  EXPECT_EQ(first.length(), 6);
  EXPECT_EQ(full.length(), 8);
  EXPECT_EQ(full.pages().size(), 2U);
  EXPECT_EQ(pool.free_pages(), 3);
  EXPECT_TRUE(append_positions(std::vector<PageAppend>{{&first, 1}, {&second, 1}}, copies));
}

TEST(PageTable, AFillThatRunsOutOfPagesTakesNone) {
  PagePool pool(2);
  PageTable table(pool, kPageSize);
  EXPECT_EQ(table.fill(9).error().code, ErrorCode::kEngine);
  EXPECT_EQ(pool.free_pages(), 2);
  EXPECT_TRUE(table.fill(8));
  EXPECT_EQ(pool.free_pages(), 0);
}

TEST(PageTable, ReleasesItsPagesOnceWhenItWasMoved) {
  PagePool pool(4);
  PageTable table = filled(pool, 5);
  PageTable other = std::move(table);
  other = filled(pool, 2);
  EXPECT_EQ(pool.free_pages(), 3);
  other.clear();
  EXPECT_EQ(pool.free_pages(), 4);
}

}  // namespace
}  // namespace polystate
