#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "polystate/runner/runner.h"
#include "runner/cache/cached_sequence.h"
#include "runner/request.h"

namespace polystate {

// The sequences that a loop's model has read and callers keep, with their pages. A sequence goes
// when no caller has its handle any more, and no request that goes on from it.
class KeptSequences {
 public:
  // Keeps what was read; what `yields` may be given up.
  void add(KeptSequence handle, CachedSequence cached, bool yields);
  // Forgets all: what the pages held is gone.
  void clear() { all_.clear(); }
  // Gives back the pages of those that nobody has any more.
  void drop_unused();
  // Gives back the pages of the first that yields and that nobody goes on from now. False without
  // one.
  using IsInUse = std::function<bool(const KeptSequence& kept)>;
  bool give_up_first(const IsInUse& is_in_use);
  // Gives back the pages of this one, which is kept here.
  void give_up(const KeptSequence& handle);

  // What was read of a sequence; null where it is not kept here.
  [[nodiscard]] const CachedSequence* cached(const KeptSequence& handle) const;
  // Whether a sequence is kept here and may be given up.
  [[nodiscard]] bool yields(const KeptSequence& handle) const;
  // Pages of a kind of caches that they hold, all but `without`.
  [[nodiscard]] std::int64_t pages(std::size_t kind, const KeptSequence& without = nullptr) const;

  // A sequence of what the request's kept one has in common with its prompt, as far as that is
  // reusable; nothing where it is not one of these. At least one token of the prompt is left to
  // read.
  [[nodiscard]] std::optional<CachedSequence> find(const Request& request) const;
  // How many of the pages of find() stay this request's to the end, where tokens see all before
  // them, and are counted in pages(). None where not all is reusable.
  [[nodiscard]] std::int64_t shared_pages(const Request& request, std::int64_t page_size) const;

 private:
  struct Kept {
    KeptSequence handle;
    CachedSequence cached;
    bool yields;
  };

  // The kept sequence that a request goes on from; null where it has none, or it is not kept here.
  [[nodiscard]] const CachedSequence* cached_for(const Request& request) const;

  std::vector<Kept> all_;
};

}  // namespace polystate
