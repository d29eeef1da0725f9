#include "runner/cache/prefix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "runner/cache/cache_kind.h"
#include "runner/cache/cache_pools.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {
namespace {

using Tokens = std::vector<TokenId>;

constexpr std::int64_t kTokensInPage = 4;

// A kind of caches; the pools do not ask how many pages a sequence has.
CacheKind kind_of(std::int64_t pages, std::int64_t window = 0) { return {window, pages, pages}; }

// Pools with an index over them.
struct Caches {
  explicit Caches(const std::vector<CacheKind>& kinds)
      : pools(kinds, kTokensInPage), index(pools) {}

  // A sequence that has read tokens in chunks, from what the index knows of them on, and keeps
  // them.
  CachedSequence read(const Tokens& tokens, std::int64_t chunk = 100) {
    CachedSequence sequence = index.find(tokens);
    while (sequence.length() < std::ssize(tokens)) {
      std::vector<std::vector<PageCopy>> copies(pools.kinds());
      const std::vector<SequenceAppend> next = {
          {&sequence, std::min(chunk, std::ssize(tokens) - sequence.length())}};
      EXPECT_TRUE(append_to_sequences(next, copies));
      for (const auto& of_kind : copies) EXPECT_TRUE(of_kind.empty());
      index.keep(std::span(tokens).first(static_cast<std::size_t>(sequence.length())), sequence);
    }
    return sequence;
  }

  CachePools pools;
  PrefixIndex index;
};

TEST(PrefixIndex, SharesWholePagesOfTheSameTokens) {
  Caches caches({kind_of(20)});
  PrefixIndex& index = caches.index;
  const Tokens tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const CachedSequence first = caches.read(tokens);
  EXPECT_EQ(index.find(tokens).length(), 8);
  EXPECT_EQ(index.find(Tokens{1, 2, 3, 4, 5, 6, 7, 8}).length(), 4) << "one token is left to read";
  EXPECT_EQ(index.find(Tokens{1, 2, 3, 4, 5, 6, 7, 0, 9}).length(), 4);
  EXPECT_EQ(index.find(Tokens{0, 2, 3, 4, 5, 6, 7, 8, 9}).length(), 0);
  EXPECT_EQ(index.find(Tokens{5, 6, 7, 8, 9}).length(), 0) << "not the same tokens before them";
  const CachedSequence second = index.find(tokens);
  EXPECT_TRUE(std::ranges::equal(second.tables()[0].pages(), first.tables()[0].pages().first(2)));
}

TEST(PrefixIndex, GivesUpTheLeastRecentlyUsedPagesWhenThePoolRunsOut) {
  Caches caches({kind_of(6)});
  const Tokens old = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Tokens recent = {2, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const Tokens& tokens : {old, recent}) caches.read(tokens);
  EXPECT_EQ(caches.pools.pool(0).free_pages(), 2);
  const CachedSequence grown = caches.read(Tokens(12, 7));
  EXPECT_EQ(caches.index.find(old).length(), 4) << "the last page goes before the first one";
  EXPECT_EQ(caches.index.find(recent).length(), 8);
}

TEST(PrefixIndex, KeepsPagesThatSequencesUse) {
  Caches caches({kind_of(2)});
  const Tokens tokens = {1, 2, 3, 4, 5};
  const CachedSequence sequence = caches.read(tokens);
  EXPECT_FALSE(caches.pools.pool(0).take());
  EXPECT_EQ(caches.index.find(tokens).length(), 4);
}

TEST(PrefixIndex, ForgetsAllAndReturnsItsPages) {
  Caches caches({kind_of(6), kind_of(4, 3)});
  const Tokens tokens = {1, 2, 3, 4, 5};
  caches.read(tokens);
  EXPECT_EQ(caches.pools.pool(0).free_pages(), 5);
  EXPECT_EQ(caches.pools.pool(1).free_pages(), 3);
  caches.index.clear();
  EXPECT_EQ(caches.pools.pool(0).free_pages(), 6);
  EXPECT_EQ(caches.pools.pool(1).free_pages(), 4);
  EXPECT_EQ(caches.index.find(tokens).length(), 0);
}

// Takes pages of a kind until the index has given up `count` of them; gives them back.
void give_up(CachePools& pools, std::size_t kind, std::int64_t count) {
  PagePool& pool = pools.pool(kind);
  std::vector<PageId> taken;
  const std::int64_t all = pool.free_pages() + count;
  while (std::ssize(taken) < all) taken.push_back(pool.take().value());
  for (const PageId page : taken) pool.release(page);
}

TEST(PrefixIndex, GivesUpPagesThatNoWindowReachesFirst) {
  Caches caches({kind_of(20), kind_of(20, 7)});
  Tokens tokens(33);
  std::iota(tokens.begin(), tokens.end(), TokenId{0});
  caches.read(tokens, 5);
  EXPECT_EQ(caches.index.find(tokens).length(), 32);
  EXPECT_EQ(caches.index.find(std::span(tokens).first(14)).length(), 12);
  give_up(caches.pools, 1, 3);
  EXPECT_EQ(caches.index.find(tokens).length(), 32) << "a token there sees the last two pages";
  give_up(caches.pools, 1, 3);
  EXPECT_EQ(caches.index.find(tokens).length(), 32);
  EXPECT_EQ(caches.index.find(std::span(tokens).first(29)).length(), 0);
  const CachedSequence found = caches.index.find(tokens);
  EXPECT_EQ(found.tables()[0].released(), 0U);
  EXPECT_EQ(found.tables()[1].released(), 6U);
  EXPECT_EQ(found.tables()[1].held_pages().size(), 2U);
}

TEST(PrefixIndex, CountsAPrefixAsFarAsEveryKindHoldsIt) {
  Caches caches({kind_of(20), kind_of(20, 7)});
  Tokens tokens(33);
  std::iota(tokens.begin(), tokens.end(), TokenId{0});
  caches.read(tokens);
  give_up(caches.pools, 0, 2);
  EXPECT_EQ(caches.index.find(tokens).length(), 24) << "the last pages of layers that see all went";
  give_up(caches.pools, 1, 8);
  EXPECT_EQ(caches.index.find(tokens).length(), 0);
  EXPECT_EQ(caches.pools.pool(1).free_pages(), 20);
  caches.read(tokens);
  EXPECT_EQ(caches.index.find(tokens).length(), 32) << "what was read again is kept again";
}

TEST(PrefixIndex, FindsPagesWhoseBeginningIsGoneWhereAllLayersHaveAWindow) {
  Caches caches({kind_of(20, 7)});
  Tokens tokens(33);
  std::iota(tokens.begin(), tokens.end(), TokenId{0});
  caches.read(tokens);
  give_up(caches.pools, 0, 6);
  EXPECT_EQ(caches.index.find(tokens).length(), 32);
  Tokens other = tokens;
  other.front() = 50;
  EXPECT_EQ(caches.index.find(other).length(), 0)
      << "other tokens, whose pages are gone, before it";
  give_up(caches.pools, 0, 2);
  EXPECT_EQ(caches.pools.pool(0).free_pages(), 20);
}

// Sequences of random tokens that share pages. What a page holds is modelled by the tokens up to
// its end, which its keys depend on.
class DrawnPrefixes {
 public:
  explicit DrawnPrefixes(const std::vector<CacheKind>& kinds)
      : caches_(kinds), written_(kinds.size()) {}

  // Reads another sequence in the place of one of three.
  void step() {
    if (live_.size() == 3) live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(random_() % 3));
    Tokens tokens(1 + random_() % 18);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random_() % 2);
    CachedSequence sequence = caches_.index.find(tokens);
    shared_ += check(tokens, sequence);
    while (sequence.length() < std::ssize(tokens)) read_chunk(tokens, sequence);
    check(tokens, sequence);
    live_.push_back(std::move(sequence));
  }

  void expect_that_all_pages_return() {
    live_.clear();
    caches_.index.clear();
    for (std::size_t kind = 0; kind < written_.size(); ++kind) {
      const PagePool& pool = caches_.pools.pool(kind);
      EXPECT_EQ(pool.free_pages(), pool.size());
    }
  }

  // Pages that were found.
  [[nodiscard]] std::size_t shared() const { return shared_; }

 private:
  // Expects that the pages that a sequence holds were written for its tokens; how many they are.
  std::size_t check(const Tokens& tokens, const CachedSequence& sequence) {
    std::size_t held = 0;
    for (std::size_t kind = 0; kind < written_.size(); ++kind) {
      const PageTable& table = sequence.tables()[kind];
      for (std::size_t page = table.released(); page < table.pages().size(); ++page) {
        EXPECT_EQ(written_[kind][table.pages()[page]], upto(tokens, page, tokens.size()));
      }
      held += table.held_pages().size();
    }
    return held;
  }

  void read_chunk(const Tokens& tokens, CachedSequence& sequence) {
    std::vector<std::vector<PageCopy>> copies(written_.size());
    const std::int64_t first = sequence.length();
    const std::int64_t count = std::min(std::ssize(tokens) - first, std::ptrdiff_t{5});
    const std::vector<SequenceAppend> next = {{&sequence, count}};
    ASSERT_TRUE(append_to_sequences(next, copies)) << "three sequences fit";
    const auto read = static_cast<std::size_t>(sequence.length());
    for (std::size_t kind = 0; kind < written_.size(); ++kind) {
      const auto pages = sequence.tables()[kind].pages();
      for (auto page = static_cast<std::size_t>(first / kTokensInPage); page < pages.size();
           ++page) {
        written_[kind][pages[page]] = upto(tokens, page, read);
      }
    }
    caches_.index.keep(std::span(tokens).first(read), sequence);
  }

  // The tokens up to the end of a page, of which so many were read.
  static Tokens upto(const Tokens& tokens, std::size_t page, std::size_t read) {
    const std::size_t end = std::min((page + 1) * static_cast<std::size_t>(kTokensInPage), read);
    return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  std::mt19937 random_{5};  // NOLINT(bugprone-random-generator-seed): the same in every run
  Caches caches_;
  std::vector<std::map<PageId, Tokens>> written_;  // of each kind
  std::vector<CachedSequence> live_;
  std::size_t shared_ = 0;
};

TEST(PrefixIndex, NeverGivesAPageOfOtherTokens) {
  for (const std::vector<CacheKind>& kinds :
       {std::vector{kind_of(15)}, std::vector{kind_of(15), kind_of(11, 3)},
        std::vector{kind_of(12, 6)}}) {
    DrawnPrefixes prefixes(kinds);
    for (int step = 0; step < 10'000 && !HasFailure(); ++step) {
      prefixes.step();
      if (step % 2000 == 1999) prefixes.expect_that_all_pages_return();
    }
    EXPECT_GT(prefixes.shared(), 1000U);
  }
}

}  // namespace
}  // namespace polystate
