#include "grammar/utf8_tokens.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/token.h"

namespace polystate::grammar {
namespace {

// First bytes of characters which not every continuation byte may follow.
struct FirstByte {
  unsigned char byte;
  unsigned char least;  // that may follow
  unsigned char most;
};
constexpr FirstByte kFirsts[] = {
    {0xE0, 0xA0, 0xBF},  // less is written in two bytes
    {0xED, 0x80, 0x9F},  // more is a surrogate
    {0xF0, 0x90, 0xBF},  // less is written in three bytes
    {0xF4, 0x80, 0x8F},  // more lies beyond U+10FFFF
};
static_assert(std::size(kFirsts) == Utf8Tokens::kFirstBytes);

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Whether a character cannot go on with a byte.
bool is_malformed(const FirstByte& first, unsigned char next) {
  return next >= 0x80 && next <= 0xBF && (next < first.least || next > first.most);
}

bool is_malformed(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    for (const FirstByte& first : kFirsts) {
      if (byte_at(text, i - 1) == first.byte && is_malformed(first, byte_at(text, i))) return true;
    }
  }
  return false;
}

}  // namespace

Utf8Tokens::Utf8Tokens(std::vector<std::string>& texts) : last_bytes_(texts.size()) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string& text = texts[i];
    if (is_malformed(text)) text.clear();
    if (text.empty()) continue;
    last_bytes_[i] = byte_at(text, text.size() - 1);
    for (std::size_t first = 0; first < kFirstBytes; ++first) {
      if (is_malformed(kFirsts[first], byte_at(text, 0)))
        forbidden_[first].push_back(static_cast<TokenId>(i));
    }
  }
}

std::span<const TokenId> Utf8Tokens::forbidden_after(unsigned char byte) const {
  const auto* const first = std::ranges::find(kFirsts, byte, &FirstByte::byte);
  if (first == std::end(kFirsts)) return {};
  return forbidden_[static_cast<std::size_t>(first - std::begin(kFirsts))];
}

}  // namespace polystate::grammar
