#include "runner/kept_bytes.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/cache/cache_kind.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_table.h"
#include "runner/model/cache_content.h"
#include "runner/model/limits.h"

namespace polystate {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kVersion = 1;

template <typename T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto more = std::as_bytes(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append_number(std::vector<std::byte>& bytes, std::uint64_t number) {
  append(bytes, std::span<const std::uint64_t>(&number, 1));
}

// Takes values from the beginning of bytes. What is not there is 0, and is remembered.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::vector<TokenId> tokens(std::uint64_t count) {
    if (count > rest_.size()) is_short_ = true;  // so that the product below cannot overflow
    const auto bytes = take(is_short_ ? 0 : count * sizeof(TokenId));
    std::vector<TokenId> tokens(bytes.size() / sizeof(TokenId));
    if (!bytes.empty()) std::memcpy(tokens.data(), bytes.data(), bytes.size());
    return tokens;
  }
  // Whether all was there, and is taken.
  [[nodiscard]] bool is_at_end() const { return !is_short_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool is_short_ = false;
};

Error damaged(const std::string& what) { return {ErrorCode::kArtifact, "a kept sequence " + what}; }

}  // namespace

Result<std::vector<std::byte>> to_bytes(const KeptTokens& tokens, const CachedSequence& cached,
                                        CacheContent& content) {
  std::vector<std::byte> bytes;
  append_number(bytes, kVersion);
  append_number(bytes, tokens.source.size());
  append_number(bytes, tokens.tokens.size());
  append(bytes, std::span(tokens.source));
  append(bytes, std::span(tokens.tokens));
  for (const PageTable& table : cached.tables()) append_number(bytes, table.released());
  for (std::size_t kind = 0; kind < cached.tables().size(); ++kind) {
    const auto pages = cached.tables()[kind].held_pages();
    if (const Status read = content.read(kind, pages, bytes); !read) return read.error();
  }
  return bytes;
}

Result<KeptBytes> KeptBytes::parse(std::span<const std::byte> bytes, const ModelLimits& limits,
                                   const CacheContent& content) {
  Reader reader(bytes);
  if (const std::uint64_t version = reader.number(); version != kVersion) {
    return damaged("has version " + std::to_string(version) + "; this one reads version " +
                   std::to_string(kVersion));
  }
  const std::uint64_t source = reader.number();
  const std::uint64_t count = reader.number();
  KeptBytes kept;
  kept.tokens.source = reader.tokens(source);
  kept.tokens.tokens = reader.tokens(count);
  const auto length = std::ssize(kept.tokens.tokens);
  if (length > limits.max_length) {
    return damaged("has " + std::to_string(length) + " tokens; the model takes " +
                   std::to_string(limits.max_length));
  }
  const auto pages = static_cast<std::uint64_t>(limits.pages_for(length));
  for (const CacheKind& kind : limits.kinds) {
    const std::uint64_t released = reader.number();
    if (released >
        std::min<std::uint64_t>(pages, first_seen_page(length, kind.window, limits.page_size))) {
      return damaged("lacks pages that the tokens after it see");
    }
    kept.released.push_back(released);
    kept.held.push_back(pages - released);
  }
  for (std::size_t kind = 0; kind < kept.held.size(); ++kind) {
    kept.pages.push_back(reader.take(kept.held[kind] * content.page_bytes(kind)));
  }
  if (!reader.is_at_end()) {
    return damaged("has " + std::to_string(bytes.size()) + " bytes, not those that it announces");
  }
  return kept;
}

}  // namespace polystate
