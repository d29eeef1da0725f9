#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "runner/cache/cache_kind.h"

namespace polystate {

// Sizes of a token model that encodes sources, from its manifest's constants of these names.
struct SourceLimits {
  std::int64_t max_source_length;  // tokens of a source
  std::int64_t cross_pages;        // pages of what sequences see of the sources
  std::int64_t max_sources;        // of one call of `encode`: its most rows; no constant
};

// Sizes of a token model, from its manifest's constants of these names.
struct ModelLimits {
  std::int64_t page_size;        // positions of a page
  std::int64_t max_length;       // positions of a sequence
  std::int64_t vocabulary_size;  // every token is below it
  std::int64_t max_sequences;    // of a step
  std::int64_t max_step_tokens;  // of a step, of all its sequences together
  std::int64_t max_wanted;       // tokens of a step whose logits are given
  // Kinds of the sequences' caches: one, or the layers that see all, and those that see a window.
  // From `pages`, `window` and `window_pages`.
  std::vector<CacheKind> kinds;
  std::optional<SourceLimits> sources;
  // The padding token, where the model's positions in a prompt do not count it: `forward` has an
  // input `counted` then.
  std::optional<TokenId> uncounted;

  // kArtifact when a constant is missing or out of range, when a method is not of its form or takes
  // less than a constant says, or when the pages do not hold a single sequence and source.
  static Result<ModelLimits> read(const Manifest& manifest);

  // Sequences that may generate side by side: a step reads a token of each, and gives its logits.
  [[nodiscard]] std::int64_t max_rows() const {
    return std::min({max_sequences, max_step_tokens, max_wanted});
  }

  // Pages that `positions` need.
  [[nodiscard]] std::int64_t pages_for(std::int64_t positions) const {
    assert(page_size > 0);  // or `read` refused it
    return (positions + page_size - 1) / page_size;
  }
};

}  // namespace polystate
