#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "polystate/core/token.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {

// Full pages that stay in their pool after the sequences that wrote them, to be shared by sequences
// that begin with the same tokens. A page is found by the digest of its tokens and of all before
// them; the tokens are compared, too. When the pool runs out, pages that no sequence uses are given
// up, the least recently used first.
class PrefixIndex {
 public:
  // `pool` outlives it.
  PrefixIndex(PagePool& pool, std::int64_t page_size);
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  ~PrefixIndex();

  // A sequence of as many of the first tokens as were kept, in whole pages; fewer than all, so that
  // one is left to read.
  PageTable find(std::span<const TokenId> tokens);

  // Keeps the full pages of `table`, which begin with these tokens, at most as many as it has
  // positions.
  void keep(std::span<const TokenId> tokens, const PageTable& table);

  // Forgets all pages: what they hold is gone.
  void clear();

 private:
  using Digest = std::uint64_t;
  struct Entry {
    Digest digest;
    Digest before;  // of the page before it; 0 for a first page
    std::vector<TokenId> tokens;
    PageId page;
  };
  using Entries = std::list<Entry>;  // the least recently used first

  // The kept page of these tokens behind `before`; end() without one.
  Entries::iterator find_page(Digest before, std::span<const TokenId> tokens);
  // Makes pages the most recently used, given in the order of their sequence: a page always goes
  // before the pages that it follows, so that it is given up first.
  void use(std::span<const Entries::iterator> pages);
  // Gives up a page; false if sequences use all of them.
  bool give_up_page();

  PagePool& pool_;
  std::size_t page_size_;
  Entries entries_;
  std::unordered_map<Digest, Entries::iterator> by_digest_;
};

}  // namespace polystate
