#include "runner/admission.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {
namespace {

constexpr FreeCapacity kFree = {
    .rows = 8, .pages = 100, .source_pages = 50, .sources = 4, .source_tokens = 60};

// One row whose source has so many tokens.
Demand row_of(std::int64_t source_tokens) {
  return {.rows = 1, .pages = 5, .source_tokens = source_tokens, .source_pages = 2};
}

std::size_t admitted(const std::vector<Demand>& waiting, const FreeCapacity& free = kFree) {
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
  const FreeCapacity free = {
      .rows = 8, .pages = 100, .source_pages = 0, .sources = 8, .source_tokens = 0};
  EXPECT_EQ(admitted(std::vector<Demand>(9, {.rows = 1, .pages = 1}), free), 8U);
}

// Sequences that fork and grow at random, but no further than their length, within the pages that
// they were promised.
TEST(Admission, PromisesAllPagesThatForkedSequencesNeed) {
  constexpr std::int64_t kPageSize = 4;
  std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the same in every run
  for (int trial = 0; trial < 300; ++trial) {
    const auto rows = static_cast<std::int64_t>(1 + random() % 5);
    const auto prompt = static_cast<std::int64_t>(1 + random() % 12);
    const auto length = prompt + static_cast<std::int64_t>(1 + random() % 12);
    PagePool pool(pages_needed(rows, prompt, length, kPageSize));
    std::vector<PageCopy> copies;
    std::vector<PageTable> tables;
    tables.emplace_back(pool, kPageSize);
    const std::vector<PageAppend> first = {{tables.data(), prompt}};
    ASSERT_TRUE(append_positions(first, copies));
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
