#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "polystate/core/token.h"
#include "runner/cache/cache_pools.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"

namespace polystate {

// Full pages that stay in their pools after the sequences that wrote them, to be shared by
// sequences that begin with the same tokens. The tokens of a page are found by the digest of them
// and of all before them; they are compared, too. When a pool runs out, pages of it that no
// sequence uses are given up, the least recently used first.
class PrefixIndex {
 public:
  // `pools` outlive it.
  explicit PrefixIndex(CachePools& pools);
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  ~PrefixIndex();

  // A sequence of as many of the first tokens as can be gone on from, in whole pages: every kind
  // of caches has kept what the token after them sees. Fewer than all, so that one is left to read.
  CachedSequence find(std::span<const TokenId> tokens);

  // Keeps the full pages that `sequence` holds of these tokens, which it begins with. It has at
  // least as many positions.
  void keep(std::span<const TokenId> tokens, const CachedSequence& sequence);

  // Forgets all pages: what they hold is gone.
  void clear();

 private:
  using Digest = std::uint64_t;
  struct Node;
  struct KeptPage {
    PageId page = -1;  // where there is none
    std::list<Node*>::iterator by_use;

    [[nodiscard]] bool is_there() const { return page >= 0; }
  };
  // The tokens of a page behind those of others. It stays while a page of it is kept, in any kind
  // of caches, or a page behind it.
  struct Node {
    Digest digest;
    Node* before;  // null for a first page
    std::vector<TokenId> tokens;
    std::vector<KeptPage> pages;  // of each kind
    std::size_t followers = 0;
  };

  // The page of these tokens behind `before`; null where there is none.
  Node* find_node(Node* before, std::span<const TokenId> tokens);
  // The same, which is made where there is none; null where its digest is that of other tokens.
  Node* make_node(Node* before, std::span<const TokenId> tokens);
  // Of so many pages, the first that a token behind them sees.
  [[nodiscard]] std::size_t first_seen(std::size_t pages, std::size_t kind) const;
  // Of the pages `path`, each behind the one before, how many can be gone on from.
  [[nodiscard]] std::size_t reusable(std::span<Node* const> path) const;
  // Makes pages the most recently used that are seen after the last one of `path`. A page always
  // goes before those that it follows, so that it is given up first.
  void use(std::span<Node* const> path);
  // Gives up a page of a kind; false if sequences use all of them.
  bool give_up_page(std::size_t kind);
  // Removes what has no reason to stay: a node, and then those before it.
  void remove_unused(Node* node);

  CachePools& pools_;
  std::size_t page_size_;
  std::unordered_map<Digest, Node> nodes_;
  std::vector<std::list<Node*>> by_use_;  // of each kind: the least recently used first
};

}  // namespace polystate
