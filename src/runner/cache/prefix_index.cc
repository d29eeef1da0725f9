#include "runner/cache/prefix_index.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/token.h"
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

PrefixIndex::PrefixIndex(PagePool& pool, std::int64_t page_size)
    : pool_(pool), page_size_(static_cast<std::size_t>(page_size)) {
  pool_.when_empty([this] { return give_up_page(); });
}

PrefixIndex::~PrefixIndex() {
  clear();
  pool_.when_empty(nullptr);
}

PageTable PrefixIndex::find(std::span<const TokenId> tokens) {
  std::vector<Entries::iterator> found;
  std::vector<PageId> pages;
  Digest digest = 0;
  while (tokens.size() > page_size_) {
    const auto entry = find_page(digest, tokens.first(page_size_));
    if (entry == entries_.end()) break;
    found.push_back(entry);
    pages.push_back(entry->page);
    digest = entry->digest;
    tokens = tokens.subspan(page_size_);
  }
  use(found);
  return PageTable::sharing(pool_, static_cast<std::int64_t>(page_size_), pages);
}

void PrefixIndex::keep(std::span<const TokenId> tokens, const PageTable& table) {
  assert(std::ssize(tokens) <= table.length());
  std::vector<Entries::iterator> kept;
  Digest before = 0;
  for (std::size_t i = 0; tokens.size() >= page_size_; ++i) {
    const auto of_page = tokens.first(page_size_);
    auto entry = find_page(before, of_page);
    if (entry == entries_.end()) {
      const Digest digest = digest_of(before, of_page);
      if (by_digest_.contains(digest)) break;  // of other tokens, which stay
      const PageId page = table.pages()[i];
      entry =
          entries_.insert(entries_.end(), {digest, before, {of_page.begin(), of_page.end()}, page});
      by_digest_.emplace(digest, entry);
      pool_.share(page);
    }
    kept.push_back(entry);
    before = entry->digest;
    tokens = tokens.subspan(page_size_);
  }
  use(kept);
}

void PrefixIndex::clear() {
  for (const Entry& entry : entries_) pool_.release(entry.page);
  entries_.clear();
  by_digest_.clear();
}

PrefixIndex::Entries::iterator PrefixIndex::find_page(Digest before,
                                                      std::span<const TokenId> tokens) {
  const auto found = by_digest_.find(digest_of(before, tokens));
  if (found == by_digest_.end()) return entries_.end();
  const auto entry = found->second;
  const bool is_same = entry->before == before && std::ranges::equal(entry->tokens, tokens);
  return is_same ? entry : entries_.end();
}

void PrefixIndex::use(std::span<const Entries::iterator> pages) {
  for (std::size_t i = pages.size(); i-- > 0;) {
    entries_.splice(entries_.end(), entries_, pages[i]);
  }
}

bool PrefixIndex::give_up_page() {
  const auto unused = std::ranges::find_if(
      entries_, [this](const Entry& entry) { return !pool_.is_shared(entry.page); });
  if (unused == entries_.end()) return false;
  pool_.release(unused->page);
  by_digest_.erase(unused->digest);
  entries_.erase(unused);
  return true;
}

}  // namespace polystate
