#include "runner/cache/page_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/cache_kind.h"
#include "runner/cache/cache_pools.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"

namespace polystate {
namespace {

constexpr std::size_t kRows = 7;
constexpr std::int64_t kPageSize = 4;
constexpr std::int64_t kMaxLength = 18;  // in part of a last page
constexpr std::int64_t kMaxChunk = 9;
constexpr std::int64_t kPages = 35;  // what append_positions says is enough

// The same for sequences whose tokens see a window; 0: none.
std::int64_t enough_pages(std::int64_t window) {
  return window == 0
             ? kPages
             : static_cast<std::int64_t>(kRows) * pages_of_window(window, kMaxChunk, kPageSize);
}

// Sequences over a pool, beside plain copies of what they hold.
class PagedRows {
 public:
  explicit PagedRows(unsigned seed, std::int64_t window = 0)
      : random_(seed),
        window_(window),
        max_length_(window == 0 ? kMaxLength : 3 * kMaxLength),
        pool_(enough_pages(window)),
        memory_(static_cast<std::size_t>(pool_.size() * kPageSize), -1) {
    rows_.emplace_back(PageTable(pool_, kPageSize, window), std::vector<int>());
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
      const std::size_t seen = first_seen(plain.size());
      ASSERT_LE(table.released() * kPageSize, seen);
      for (std::size_t i = seen; i < plain.size(); ++i) {
        ASSERT_EQ(at(table, static_cast<std::int64_t>(i)), plain[i]);
      }
      used.insert(table.held_pages().begin(), table.held_pages().end());
    }
    ASSERT_EQ(pool_.free_pages(), pool_.size() - static_cast<std::int64_t>(used.size()));
  }

  void clear() { rows_.clear(); }
  [[nodiscard]] const PagePool& pool() const { return pool_; }

 private:
  // The first position that a token at this one sees.
  [[nodiscard]] std::size_t first_seen(std::size_t position) const {
    const auto window = static_cast<std::size_t>(window_);
    return window == 0 || position + 1 < window ? 0 : position + 1 - window;
  }

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
    const std::size_t length = random_() % (plain.size() + 1);
    const bool can_rewind = table.can_rewind(static_cast<std::int64_t>(length));
    ASSERT_EQ(can_rewind, length == 0 || first_seen(length) / kPageSize >= table.released());
    if (!can_rewind) return;
    plain.resize(length);
    table.rewind(static_cast<std::int64_t>(length));
  }

  void release() {
    if (rows_.size() > 1) rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(any_row()));
  }

  // Appends to some of the rows, one position or several, as a step of a decoder does.
  void append() {
    std::vector<PageAppend> appends;
    std::vector<std::vector<int>*> plains;
    for (auto& [table, plain] : rows_) {
      const std::int64_t left = max_length_ - table.length();
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
  std::int64_t window_;
  std::int64_t max_length_;
  PagePool pool_;
  std::vector<int> memory_;
  std::vector<std::pair<PageTable, std::vector<int>>> rows_;
  int next_value_ = 0;
};

TEST(PageTable, HoldsWhatPlainCopiesHoldThroughForksRewindsAppendsAndReleases) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    constexpr std::array<std::int64_t, 6> kWindows = {0, 1, 2, 4, 5, 11};
    const std::int64_t window = seed < 20 ? 0 : kWindows[seed % kWindows.size()];
    PagedRows sequences(seed, window);
    for (int i = 0; i < 3000; ++i) {
      sequences.step();
      sequences.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    sequences.clear();
    EXPECT_EQ(sequences.pool().free_pages(), enough_pages(window));
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

TEST(PageTable, ReleasesPagesThatNoLaterTokenSees) {
  PagePool pool(5);
  PageTable table(pool, kPageSize, 6);
  std::vector<PageCopy> copies;
  const auto append = [&](std::int64_t count) {
    return append_positions(std::vector<PageAppend>{{&table, count}}, copies).has_value();
  };
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(append(1));
  EXPECT_EQ(table.released(), 0U) << "position 8 sees position 3";
  ASSERT_TRUE(append(1));
  EXPECT_EQ(table.released(), 1U) << "position 9 does not";
  EXPECT_EQ(table.pages().size(), 3U);
  EXPECT_EQ(table.pages()[0], 0);
  EXPECT_EQ(pool.free_pages(), 3);
  const PageTable other = table.fork();
  EXPECT_EQ(other.released(), 1U);
  EXPECT_TRUE(table.can_rewind(9));
  EXPECT_FALSE(table.can_rewind(8));
  EXPECT_TRUE(table.can_rewind(0));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(append(2)) << "other keeps two pages";
}

TEST(CachedSequence, GrowsInAllKindsOrInNone) {
  const std::vector<CacheKind> kinds = {{0, 6, 6}, {5, 3, 3}};
  CachePools pools(kinds, kPageSize);
  CachedSequence first = pools.new_sequence();
  CachedSequence second = pools.new_sequence();
  std::vector<std::vector<PageCopy>> copies(2);
  ASSERT_TRUE(append_to_sequences(std::vector<SequenceAppend>{{&first, 6}}, copies));
  second = first.fork();
  // The second kind has one page left, for the copy of a page that is shared.
  const std::vector<SequenceAppend> both = {{&first, 1}, {&second, 4}};
  EXPECT_FALSE(append_to_sequences(both, copies));
  for (const auto& of_kind : copies) EXPECT_TRUE(of_kind.empty());
  EXPECT_EQ(first.length(), 6);
  EXPECT_EQ(second.length(), 6);
  EXPECT_EQ(pools.pool(0).free_pages(), 4);
  EXPECT_EQ(pools.pool(1).free_pages(), 1);
  ASSERT_TRUE(append_to_sequences(std::vector<SequenceAppend>{{&first, 1}, {&second, 1}}, copies));
  for (const auto& of_kind : copies) EXPECT_EQ(of_kind.size(), 1U);
}

TEST(CachedSequence, IsReusableAsFarAsEveryKindHoldsIt) {
  const std::vector<CacheKind> kinds = {{0, 6, 6}, {5, 6, 6}};
  CachePools pools(kinds, kPageSize);
  CachedSequence sequence = pools.new_sequence();
  std::vector<std::vector<PageCopy>> copies(2);
  for (int i = 0; i < 18; ++i) {
    ASSERT_TRUE(append_to_sequences(std::vector<SequenceAppend>{{&sequence, 1}}, copies));
  }
  EXPECT_EQ(sequence.tables()[1].released(), 3U) << "position 17 sees those from 13 on";
  EXPECT_EQ(sequence.reusable(18), 18);
  EXPECT_EQ(sequence.reusable(16), 16) << "position 16 sees those from 12 on";
  EXPECT_EQ(sequence.reusable(15), 0);
  sequence.rewind(16);
  EXPECT_EQ(pools.pool(1).free_pages(), 5);
  sequence.rewind(sequence.reusable(15));
  EXPECT_EQ(sequence.length(), 0);
  EXPECT_EQ(pools.pool(0).free_pages(), 6);
  EXPECT_EQ(pools.pool(1).free_pages(), 6);
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
