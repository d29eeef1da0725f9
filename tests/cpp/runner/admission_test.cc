#include "runner/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "runner/cache/cache_kind.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {
namespace {

// Of a kind of caches without a window.
FreePages free_pages(std::int64_t pages) { return {.pages = pages, .row_pages = 100}; }

FreeCapacity free_capacity() {
  return {
      .rows = 8, .pages = {free_pages(100)}, .source_pages = 50, .sources = 4, .source_tokens = 60};
}

// One row whose source has so many tokens.
Demand row_of(std::int64_t source_tokens) {
  return {.rows = 1, .pages = 5, .source_tokens = source_tokens, .source_pages = 2};
}

std::size_t admitted(const std::vector<Demand>& waiting,
                     const FreeCapacity& free = free_capacity()) {
  return count_admitted(waiting, free);
}

TEST(Admission, TakesTheFirstOnesThatFitTogether) {
  EXPECT_EQ(admitted({}), 0U);
  EXPECT_EQ(admitted({row_of(10), row_of(10), row_of(10)}), 3U);
  EXPECT_EQ(admitted({row_of(10), {.rows = 8, .pages = 1}, row_of(10)}), 1U) << "rows";
  EXPECT_EQ(admitted({row_of(10), {.rows = 1, .pages = 96}}), 1U) << "pages";
  EXPECT_EQ(admitted({row_of(10), {.rows = 1, .source_pages = 49}}), 1U) << "pages of sources";
  EXPECT_EQ(admitted({{.rows = 9}, row_of(10)}), 0U) << "the first is not passed over";
}

TEST(Admission, PadsSourcesToTheLongest) {
  EXPECT_EQ(admitted({row_of(20), row_of(1), row_of(1), row_of(1)}), 3U);
  EXPECT_EQ(admitted({row_of(1), row_of(1), row_of(30), row_of(1)}), 2U);
  EXPECT_EQ(admitted({row_of(10), row_of(10), row_of(10), row_of(10), row_of(10)}), 4U);
  EXPECT_EQ(admitted({row_of(1000), row_of(1)}), 1U) << "a long source is read alone";
}

TEST(Admission, AsksNothingOfAnEncoderThatIsNotThere) {
  FreeCapacity free = free_capacity();
  free.source_pages = free.source_tokens = 0;
  free.sources = 8;
  EXPECT_EQ(admitted(std::vector<Demand>(9, {.rows = 1, .pages = 1}), free), 8U);
}

TEST(Admission, AsksForNoMorePagesThanRowsHaveAtATime) {
  FreeCapacity free = free_capacity();
  free.pages.push_back({.pages = 12, .row_pages = 4});
  const Demand small = {.rows = 1, .pages = 3};
  const Demand large = {.rows = 1, .pages = 30};
  const Demand beams = {.rows = 3, .pages = 30};
  EXPECT_EQ(admitted({large, large, large, small}, free), 3U) << "rows of four pages in a window";
  EXPECT_EQ(admitted({small, small, small, small, small}, free), 4U) << "fewer than a window's";
  EXPECT_EQ(admitted({beams, small}, free), 1U);
  free.pages[0].pages = 59;
  EXPECT_EQ(admitted({large, large, small}, free), 1U) << "the other kind has too few";
}

// Sequences that read a prompt in chunks, fork and grow at random, but no further than their
// length, within the pages that they were promised.
TEST(Admission, PromisesAllPagesThatForkedSequencesNeed) {
  constexpr std::int64_t kPageSize = 4;
  std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the same in every run
  for (int trial = 0; trial < 600; ++trial) {
    const auto rows = static_cast<std::int64_t>(1 + random() % 5);
    const auto prompt = static_cast<std::int64_t>(1 + random() % 40);
    const auto length = prompt + static_cast<std::int64_t>(1 + random() % 40);
    const auto window = trial % 2 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % 12);
    const auto chunk = static_cast<std::int64_t>(1 + random() % 12);
    const Demand demand = {.rows = rows, .pages = pages_needed(rows, prompt, length, kPageSize)};
    PagePool pool(window == 0 ? demand.pages
                              : pages_of_kind(demand, pages_of_window(window, chunk, kPageSize)));
    std::vector<PageCopy> copies;
    std::vector<PageTable> tables;
    tables.emplace_back(pool, kPageSize, window);
    while (tables.front().length() < prompt) {
      const std::int64_t count = std::min(chunk, prompt - tables.front().length());
      const std::vector<PageAppend> first = {{tables.data(), count}};
      ASSERT_TRUE(append_positions(first, copies)) << trial;
    }
    for (std::int64_t position = prompt; position < length; ++position) {
      std::vector<PageTable> next;
      while (std::ssize(next) < rows) next.push_back(tables[random() % tables.size()].fork());
      tables = std::move(next);
      std::vector<PageAppend> appends;
      appends.reserve(tables.size());
      for (PageTable& table : tables) appends.push_back({&table, 1});
      ASSERT_TRUE(append_positions(appends, copies)) << trial << ", position " << position;
    }
  }
}

}  // namespace
}  // namespace polystate
