#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "runner/cache/cached_sequence.h"
#include "runner/model/limits.h"
#include "runner/model/token_model.h"

namespace polystate {

// A kept sequence as bytes, which the same model reads in another session:
//
//   uint64   version 1, tokens of the source, tokens
//   uint32   the tokens of the source, the tokens
//   uint64   of each kind of caches: the first pages that it does without
//   bytes    of each kind: what the others have, as CacheContent gives it
//
// Numbers are little-endian.
Result<std::vector<std::byte>> to_bytes(const KeptTokens& tokens, const CachedSequence& cached,
                                        CacheContent& content);

// What such bytes say, before their pages have a place.
struct KeptBytes {
  KeptTokens tokens;
  std::vector<std::size_t> released;              // of each kind of caches
  std::vector<std::size_t> held;                  // the pages of each kind that are there
  std::vector<std::span<const std::byte>> pages;  // what these have

  // It borrows from `bytes`. kArtifact when they are not what to_bytes makes for such a model.
  static Result<KeptBytes> parse(std::span<const std::byte> bytes, const ModelLimits& limits,
                                 const CacheContent& content);
};

}  // namespace polystate
