#include "runner/kept_sequences.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include "polystate/runner/runner.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"
#include "runner/request.h"

namespace polystate {
namespace {

// Tokens that both begin with; one of the prompt is left to read.
std::int64_t common_length(const KeptTokens& kept, const Request& request) {
  const auto prompt = request.seen_prompt();
  if (!std::ranges::equal(kept.source, request.source())) return 0;
  const auto [end, other] = std::ranges::mismatch(prompt.first(prompt.size() - 1), kept.tokens);
  return end - prompt.begin();
}

}  // namespace

void KeptSequences::add(KeptSequence handle, CachedSequence cached, bool yields) {
  all_.push_back({std::move(handle), std::move(cached), yields});
}

bool KeptSequences::give_up_first(const IsInUse& is_in_use) {
  const auto found = std::ranges::find_if(
      all_, [&](const Kept& kept) { return kept.yields && !is_in_use(kept.handle); });
  if (found == all_.end()) return false;
  all_.erase(found);
  return true;
}

void KeptSequences::give_up(const KeptSequence& handle) {
  all_.erase(std::ranges::find(all_, handle, &Kept::handle));
}

void KeptSequences::drop_unused() {
  // The last holder is this one: no other thread can have a copy made.
  std::erase_if(all_, [](const Kept& kept) { return kept.handle.use_count() == 1; });
}

std::int64_t KeptSequences::pages(std::size_t kind, const KeptSequence& without) const {
  std::unordered_set<PageId> pages;  // forks share some
  for (const Kept& kept : all_) {
    if (kept.handle == without) continue;
    const auto held = kept.cached.tables()[kind].held_pages();
    pages.insert(held.begin(), held.end());
  }
  return std::ssize(pages);
}

const CachedSequence* KeptSequences::cached(const KeptSequence& handle) const {
  const auto found = std::ranges::find(all_, handle, &Kept::handle);
  return found == all_.end() ? nullptr : &found->cached;
}

bool KeptSequences::yields(const KeptSequence& handle) const {
  const auto found = std::ranges::find(all_, handle, &Kept::handle);
  return found != all_.end() && found->yields;
}

const CachedSequence* KeptSequences::cached_for(const Request& request) const {
  return request.wants_prompt_logprobs() ? nullptr : cached(request.kept());
}

std::optional<CachedSequence> KeptSequences::find(const Request& request) const {
  const CachedSequence* const kept = cached_for(request);
  if (kept == nullptr) return std::nullopt;
  CachedSequence cached = kept->fork();
  cached.rewind(cached.reusable(common_length(*request.kept(), request)));
  return cached;
}

std::int64_t KeptSequences::shared_pages(const Request& request, std::int64_t page_size) const {
  const CachedSequence* const kept = cached_for(request);
  // What slides reads into pages of its own later.
  if (kept == nullptr || request.slide()) return 0;
  return kept->reusable(common_length(*request.kept(), request)) / page_size;
}

}  // namespace polystate
