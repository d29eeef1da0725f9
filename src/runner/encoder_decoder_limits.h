#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"

namespace polystate {

// Sizes of an encoder-decoder artifact, from its manifest's constants of these names.
struct EncoderDecoderLimits {
  std::int64_t page_size;          // positions of a page
  std::int64_t max_batch;          // rows of `decode`
  std::int64_t max_source_length;  // tokens of a source
  std::int64_t max_length;         // positions of the decoder
  std::int64_t vocabulary_size;
  std::int64_t pages;        // of the decoder's own caches
  std::int64_t cross_pages;  // of what the decoder sees of the sources
  std::int64_t max_sources;  // of one call of `encode`: the largest size of its first dimension
  // The padding token, where the model's positions in a prompt do not count it: `decode` has a
  // sixth input then.
  std::optional<TokenId> uncounted;

  // kArtifact when a constant is missing or out of range, when a method is, or when the pages do
  // not hold a single sequence and source.
  static Result<EncoderDecoderLimits> read(const Manifest& manifest);

  // Pages that `positions` need.
  [[nodiscard]] std::int64_t pages_for(std::int64_t positions) const {
    assert(page_size > 0);  // or `read` refused it
    return (positions + page_size - 1) / page_size;
  }
};

}  // namespace polystate
