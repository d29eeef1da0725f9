#include "runner/cache/prefix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {
namespace {

using Tokens = std::vector<TokenId>;

constexpr std::int64_t kTokensInPage = 4;

// A sequence that has read tokens, from what the index knows of them on.
PageTable read(PrefixIndex& index, const Tokens& tokens) {
  PageTable table = index.find(tokens);
  std::vector<PageCopy> copies;
  const std::vector<PageAppend> rest = {{&table, std::ssize(tokens) - table.length()}};
  EXPECT_TRUE(append_positions(rest, copies));
  EXPECT_TRUE(copies.empty());
  return table;
}

TEST(PrefixIndex, SharesWholePagesOfTheSameTokens) {
  PagePool pool(20);
  PrefixIndex index(pool, kTokensInPage);
  const Tokens tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const PageTable first = read(index, tokens);
  index.keep(tokens, first);
  EXPECT_EQ(index.find(tokens).length(), 8);
  EXPECT_EQ(index.find(Tokens{1, 2, 3, 4, 5, 6, 7, 8}).length(), 4) << "one token is left to read";
  EXPECT_EQ(index.find(Tokens{1, 2, 3, 4, 5, 6, 7, 0, 9}).length(), 4);
  EXPECT_EQ(index.find(Tokens{0, 2, 3, 4, 5, 6, 7, 8, 9}).length(), 0);
  EXPECT_EQ(index.find(Tokens{5, 6, 7, 8, 9}).length(), 0) << "not the same tokens before them";
  const PageTable second = index.find(tokens);
  EXPECT_TRUE(std::ranges::equal(second.pages(), first.pages().first(2)));
}

TEST(PrefixIndex, GivesUpTheLeastRecentlyUsedPagesWhenThePoolRunsOut) {
  PagePool pool(6);
  PrefixIndex index(pool, kTokensInPage);
  const Tokens old = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Tokens recent = {2, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const Tokens& tokens : {old, recent}) index.keep(tokens, read(index, tokens));
  EXPECT_EQ(pool.free_pages(), 2);
  const PageTable grown = read(index, Tokens(12, 7));
  EXPECT_EQ(index.find(old).length(), 4) << "the last page goes before the first one";
  EXPECT_EQ(index.find(recent).length(), 8);
}

TEST(PrefixIndex, KeepsPagesThatSequencesUse) {
  PagePool pool(2);
  PrefixIndex index(pool, kTokensInPage);
  const Tokens tokens = {1, 2, 3, 4, 5};
  const PageTable table = read(index, tokens);
  index.keep(tokens, table);
  EXPECT_FALSE(pool.take());
  EXPECT_EQ(index.find(tokens).length(), 4);
}

TEST(PrefixIndex, ForgetsAllAndReturnsItsPages) {
  PagePool pool(6);
  PrefixIndex index(pool, kTokensInPage);
  const Tokens tokens = {1, 2, 3, 4, 5};
  index.keep(tokens, read(index, tokens));
  EXPECT_EQ(pool.free_pages(), 5);
  index.clear();
  EXPECT_EQ(pool.free_pages(), 6);
  EXPECT_EQ(index.find(tokens).length(), 0);
}

// What a page holds is modelled by the tokens up to its end, which its keys depend on.
TEST(PrefixIndex, NeverGivesAPageOfOtherTokens) {
  std::mt19937 random(5);  // NOLINT(bugprone-random-generator-seed): the same in every run
  PagePool pool(12);
  PrefixIndex index(pool, kTokensInPage);
  std::map<PageId, Tokens> written;
  std::vector<std::pair<Tokens, PageTable>> live;
  std::size_t shared = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (live.size() == 3) live.erase(live.begin() + static_cast<std::ptrdiff_t>(random() % 3));
    Tokens tokens(1 + random() % 12);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 2);
    PageTable table = index.find(tokens);
    shared += table.pages().size();
    for (std::size_t page = 0; page < table.pages().size(); ++page) {
      const auto end = tokens.begin() + static_cast<std::ptrdiff_t>((page + 1) * kTokensInPage);
      ASSERT_EQ(written[table.pages()[page]], Tokens(tokens.begin(), end));
    }
    const auto known = static_cast<std::size_t>(table.length());
    std::vector<PageCopy> copies;
    const std::vector<PageAppend> rest = {{&table, std::ssize(tokens) - table.length()}};
    ASSERT_TRUE(append_positions(rest, copies)) << "three sequences of three pages fit";
    for (std::size_t page = known / kTokensInPage; page < table.pages().size(); ++page) {
      const std::size_t end = std::min((page + 1) * kTokensInPage, tokens.size());
      written[table.pages()[page]].assign(tokens.begin(),
                                          tokens.begin() + static_cast<std::ptrdiff_t>(end));
    }
    index.keep(tokens, table);
    live.emplace_back(std::move(tokens), std::move(table));
    if (random() % 2000 == 0) {
      live.clear();
      index.clear();
      ASSERT_EQ(pool.free_pages(), pool.size());
    }
  }
  EXPECT_GT(shared, 1000U);
}

}  // namespace
}  // namespace polystate
