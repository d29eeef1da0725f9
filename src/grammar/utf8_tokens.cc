#include "grammar/utf8_tokens.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/token.h"

namespace polystate::grammar {
namespace {

constexpr unsigned char kSurrogate = 0xED;   // with 0xA0 or more after it
constexpr unsigned char kLastPlanes = 0xF4;  // with 0x90 or more after it

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(unsigned char byte) { return byte >= 0x80 && byte <= 0xBF; }

// Whether a character that begins with one byte cannot go on with the other.
bool is_malformed(unsigned char first, unsigned char next) {
  return is_continuation(next) &&
         ((first == kSurrogate && next >= 0xA0) || (first == kLastPlanes && next >= 0x90));
}

bool is_malformed(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (is_malformed(byte_at(text, i - 1), byte_at(text, i))) return true;
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
    const auto token = static_cast<TokenId>(i);
    if (is_malformed(kSurrogate, byte_at(text, 0))) after_surrogate_.push_back(token);
    if (is_malformed(kLastPlanes, byte_at(text, 0))) after_last_planes_.push_back(token);
  }
}

std::span<const TokenId> Utf8Tokens::forbidden_after(unsigned char byte) const {
  if (byte == kSurrogate) return after_surrogate_;
  if (byte == kLastPlanes) return after_last_planes_;
  return {};
}

}  // namespace polystate::grammar
