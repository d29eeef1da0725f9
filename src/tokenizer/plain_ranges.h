#pragma once

#include <cstdint>
#include <span>

#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"

namespace polystate::tokenizer {

// Looks up what PlainParts says. It refers to them.
class PlainRanges {
 public:
  explicit PlainRanges(const PlainParts& parts) : parts_(parts) {}

  [[nodiscard]] bool empty() const { return parts_.ranges.empty() || parts_.tokens.empty(); }
  // Whether a token is one of those that are looked for.
  [[nodiscard]] bool concerns(TokenId id) const;

  // How much of a text is in plain parts; `alignment`: the caller's bytes for each of its bytes.
  enum class Overlap : std::uint8_t { kNone, kSome, kAll };
  [[nodiscard]] Overlap overlap(std::span<const TextRange> alignment) const;

 private:
  [[nodiscard]] bool has(std::uint32_t position) const;

  const PlainParts& parts_;
};

}  // namespace polystate::tokenizer
