#include "runner/cache/cached_sequence.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/page_table.h"

namespace polystate {
namespace {

// What the tables of one kind grow by.
std::vector<PageAppend> appends_of_kind(std::span<const SequenceAppend> appends, std::size_t kind) {
  std::vector<PageAppend> of_kind;
  of_kind.reserve(appends.size());
  for (const auto& [sequence, count] : appends) {
    of_kind.push_back({&sequence->tables()[kind], count});
  }
  return of_kind;
}

}  // namespace

CachedSequence::CachedSequence(std::vector<PageTable> tables) : tables_(std::move(tables)) {
  assert(!tables_.empty());
}

CachedSequence CachedSequence::fork() const {
  std::vector<PageTable> tables;
  tables.reserve(tables_.size());
  for (const PageTable& table : tables_) tables.push_back(table.fork());
  return CachedSequence(std::move(tables));
}

std::int64_t CachedSequence::reusable(std::int64_t length) const {
  const bool can_rewind = std::ranges::all_of(
      tables_, [length](const PageTable& table) { return table.can_rewind(length); });
  return can_rewind ? length : 0;
}

void CachedSequence::rewind(std::int64_t length) {
  for (PageTable& table : tables_) table.rewind(length);
}

Status CachedSequence::fill(std::int64_t count, std::span<const std::size_t> released) {
  for (std::size_t kind = 0; kind < tables_.size(); ++kind) {
    if (Status filled = tables_[kind].fill(count, released[kind]); !filled) {
      for (PageTable& table : tables_) table.clear();
      return filled;
    }
  }
  return {};
}

Status append_to_sequences(std::span<const SequenceAppend> appends,
                           std::span<std::vector<PageCopy>> copies) {
  for (std::size_t kind = 0; kind < copies.size(); ++kind) {
    if (Status appended = append_positions(appends_of_kind(appends, kind), copies[kind]);
        !appended) {
      while (kind-- > 0) undo_append(appends_of_kind(appends, kind), copies[kind]);
      return appended;
    }
  }
  return {};
}

}  // namespace polystate
