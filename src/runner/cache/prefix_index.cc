#include "runner/cache/prefix_index.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "runner/cache/cache_pools.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"

namespace polystate {
namespace {

// FNV-1a (Fowler, Noll and Vo) over words of 64 bits instead of bytes.
std::uint64_t digest_of(std::uint64_t before, std::span<const TokenId> tokens) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t digest = (kBasis ^ before) * kPrime;
  for (const TokenId token : tokens) digest = (digest ^ token) * kPrime;
  return digest;
}

}  // namespace

PrefixIndex::PrefixIndex(CachePools& pools)
    : pools_(pools),
      page_size_(static_cast<std::size_t>(pools.page_size())),
      by_use_(pools.kinds()) {
  for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) {
    pools_.pool(kind).when_empty([this, kind] { return give_up_page(kind); });
  }
}

PrefixIndex::~PrefixIndex() {
  clear();
  for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) pools_.pool(kind).when_empty(nullptr);
}

CachedSequence PrefixIndex::find(std::span<const TokenId> tokens) {
  std::vector<Node*> path;
  Node* last = nullptr;
  for (; tokens.size() > page_size_; tokens = tokens.subspan(page_size_)) {
    last = find_node(last, tokens.first(page_size_));
    if (last == nullptr) break;
    path.push_back(last);
  }
  path.resize(reusable(path));
  CachedSequence sequence = pools_.new_sequence();
  for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) {
    const std::size_t first = first_seen(path.size(), kind);
    std::vector<PageId> pages(path.size());
    for (std::size_t i = first; i < path.size(); ++i) pages[i] = path[i]->pages[kind].page;
    sequence.tables()[kind].share(pages, first);
  }
  use(path);
  return sequence;
}

void PrefixIndex::keep(std::span<const TokenId> tokens, const CachedSequence& sequence) {
  assert(std::ssize(tokens) <= sequence.length());
  std::vector<Node*> path;
  Node* last = nullptr;
  for (std::size_t i = 0; tokens.size() >= page_size_; ++i) {
    Node* const node = make_node(last, tokens.first(page_size_));
    if (node == nullptr) break;
    for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) {
      const PageTable& table = sequence.tables()[kind];
      if (node->pages[kind].is_there() || i < table.released()) continue;
      pools_.pool(kind).share(table.pages()[i]);
      by_use_[kind].push_back(node);
      node->pages[kind] = {table.pages()[i], std::prev(by_use_[kind].end())};
    }
    path.push_back(node);
    last = node;
    tokens = tokens.subspan(page_size_);
  }
  use(path);
  if (last != nullptr) remove_unused(last);
}

void PrefixIndex::clear() {
  for (const auto& [digest, node] : nodes_) {
    for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) {
      if (node.pages[kind].is_there()) pools_.pool(kind).release(node.pages[kind].page);
    }
  }
  nodes_.clear();
  for (auto& nodes : by_use_) nodes.clear();
}

PrefixIndex::Node* PrefixIndex::find_node(Node* before, std::span<const TokenId> tokens) {
  const auto found = nodes_.find(digest_of(before == nullptr ? 0 : before->digest, tokens));
  if (found == nodes_.end()) return nullptr;
  Node& node = found->second;
  return node.before == before && std::ranges::equal(node.tokens, tokens) ? &node : nullptr;
}

PrefixIndex::Node* PrefixIndex::make_node(Node* before, std::span<const TokenId> tokens) {
  if (Node* const found = find_node(before, tokens)) return found;
  const Digest digest = digest_of(before == nullptr ? 0 : before->digest, tokens);
  Node node = {digest, before, {tokens.begin(), tokens.end()}, {}};
  node.pages.resize(pools_.kinds());
  const auto [made, is_new] = nodes_.emplace(digest, std::move(node));
  if (!is_new) return nullptr;
  if (before != nullptr) ++before->followers;
  return &made->second;
}

std::size_t PrefixIndex::first_seen(std::size_t pages, std::size_t kind) const {
  return first_seen_page(static_cast<std::int64_t>(pages * page_size_), pools_.window(kind),
                         static_cast<std::int64_t>(page_size_));
}

std::size_t PrefixIndex::reusable(std::span<Node* const> path) const {
  std::size_t most = 0;
  std::vector<std::size_t> kept(pools_.kinds(), 0);  // pages in a row, up to the present one
  for (std::size_t count = 1; count <= path.size(); ++count) {
    bool all_kept = true;
    for (std::size_t kind = 0; kind < kept.size(); ++kind) {
      kept[kind] = path[count - 1]->pages[kind].is_there() ? kept[kind] + 1 : 0;
      all_kept = all_kept && kept[kind] >= count - first_seen(count, kind);
    }
    if (all_kept) most = count;
  }
  return most;
}

void PrefixIndex::use(std::span<Node* const> path) {
  for (std::size_t kind = 0; kind < pools_.kinds(); ++kind) {
    std::list<Node*>& nodes = by_use_[kind];
    for (std::size_t i = path.size(); i-- > first_seen(path.size(), kind);) {
      const KeptPage& page = path[i]->pages[kind];
      if (page.is_there()) nodes.splice(nodes.end(), nodes, page.by_use);
    }
  }
}

bool PrefixIndex::give_up_page(std::size_t kind) {
  PagePool& pool = pools_.pool(kind);
  std::list<Node*>& nodes = by_use_[kind];
  const auto unused = std::ranges::find_if(
      nodes, [&](const Node* node) { return !pool.is_shared(node->pages[kind].page); });
  if (unused == nodes.end()) return false;
  Node* const node = *unused;
  nodes.erase(unused);
  pool.release(node->pages[kind].page);
  node->pages[kind] = {};
  remove_unused(node);
  return true;
}

void PrefixIndex::remove_unused(Node* node) {
  while (node != nullptr && node->followers == 0 &&
         std::ranges::none_of(node->pages, &KeptPage::is_there)) {
    Node* const before = node->before;
    nodes_.erase(node->digest);
    if (before != nullptr) --before->followers;
    node = before;
  }
}

}  // namespace polystate
