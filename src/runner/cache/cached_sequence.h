#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "runner/cache/page_table.h"

namespace polystate {

// What one sequence has in a model's caches: the same positions in each kind of them.
class CachedSequence {
 public:
  // A table of each kind, of one length.
  explicit CachedSequence(std::vector<PageTable> tables);

  // The same positions, in the same pages.
  [[nodiscard]] CachedSequence fork() const;
  // The most of the first `length` positions that it can go on from, which is `length` or none:
  // every kind holds what a token after them sees. At most length().
  [[nodiscard]] std::int64_t reusable(std::int64_t length) const;
  // Drops the positions from `length` on, where that many are reusable.
  void rewind(std::int64_t length);
  void clear() { rewind(0); }
  // Appends `count` positions to an empty sequence, in pages of its own: in each kind without the
  // first `released` ones. kEngine, and the sequence stays empty, when a pool has too few.
  Status fill(std::int64_t count, std::span<const std::size_t> released);

  [[nodiscard]] std::int64_t length() const { return tables_.front().length(); }
  [[nodiscard]] std::span<const PageTable> tables() const { return tables_; }
  [[nodiscard]] std::span<PageTable> tables() { return tables_; }

 private:
  std::vector<PageTable> tables_;
};

// Positions that a sequence is to grow by, for the tokens that it reads next.
struct SequenceAppend {
  CachedSequence* sequence;
  std::int64_t count;  // 1 or more
};

// append_positions in each kind of caches. `copies` has a list of each, which becomes what must be
// copied there.
Status append_to_sequences(std::span<const SequenceAppend> appends,
                           std::span<std::vector<PageCopy>> copies);

}  // namespace polystate
