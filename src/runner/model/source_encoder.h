#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "runner/cache/page_pool.h"
#include "runner/cache/page_table.h"
#include "runner/model/limits.h"
#include "runner/model/method_session.h"

namespace polystate {

// A source that was encoded: where sequences find what they see of it.
struct EncodedSource {
  PageTable pages;
};

// The encoder of a token model, with the pool that says which pages of what it wrote are in use.
//
//   encode(input_ids [batch, source], lengths [batch], cross_table [batch, k]) -> ()
//
// What a table has no page for is 0, and is not written.
class SourceEncoder {
 public:
  // `session` outlives it.
  SourceEncoder(MethodSession& session, std::int64_t page_size, const SourceLimits& limits);

  // Encodes sources together, padded to the longest with `pad`; at most max_sources, each of 1 to
  // max_source_length tokens. kEngine when the pool has too few pages.
  Result<std::vector<EncodedSource>> encode(std::span<const std::span<const TokenId>> sources,
                                            TokenId pad);

  [[nodiscard]] const PagePool& pool() const { return pool_; }

 private:
  MethodSession& session_;
  std::int64_t page_size_;
  PagePool pool_;

  // Inputs of a call, kept for the next.
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> cross_table_;
};

}  // namespace polystate
