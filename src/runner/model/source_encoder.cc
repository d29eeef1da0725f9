#include "runner/model/source_encoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "runner/cache/page_table.h"
#include "runner/model/limits.h"
#include "runner/model/method_session.h"
#include "runner/model/tables.h"

namespace polystate {

SourceEncoder::SourceEncoder(MethodSession& session, std::int64_t page_size,
                             const SourceLimits& limits)
    : session_(session), page_size_(page_size), pool_(limits.cross_pages) {}

Result<std::vector<EncodedSource>> SourceEncoder::encode(
    std::span<const std::span<const TokenId>> sources, TokenId pad) {
  std::vector<EncodedSource> encoded;
  encoded.reserve(sources.size());
  std::vector<const PageTable*> tables;
  std::size_t longest = 0;
  for (const auto source : sources) {
    EncodedSource& next = encoded.emplace_back(PageTable(pool_, page_size_));
    const Status filled = next.pages.fill(std::ssize(source));
    if (!filled) return filled.error();
    tables.push_back(&next.pages);
    longest = std::max(longest, source.size());
  }
  ids_.assign(sources.size() * longest, static_cast<std::int64_t>(pad));
  lengths_.clear();
  auto row = ids_.begin();
  for (const auto source : sources) {
    std::ranges::copy(source, row);
    row += static_cast<std::ptrdiff_t>(longest);
    lengths_.push_back(std::ssize(source));
  }
  lay_out(tables, cross_table_);
  const std::array<NamedTensor, 3> inputs = {
      {{"input_ids", as_matrix(ids_, sources.size())},
       {"lengths", as_vector(lengths_)},
       {"cross_table", as_matrix(cross_table_, sources.size())}}};
  if (const auto done = session_.run("encode", inputs); !done) return done.error();
  return encoded;
}

}  // namespace polystate
