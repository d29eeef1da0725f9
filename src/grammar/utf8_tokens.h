#pragma once

#include <span>
#include <string>
#include <vector>

#include "polystate/core/token.h"

namespace polystate::grammar {

// Which tokens would make malformed UTF-8 of a text. xgrammar takes surrogates and what lies beyond
// U+10FFFF for characters.
class Utf8Tokens {
 public:
  // `texts`: the bytes of each token. Those of tokens that are malformed by themselves are cleared.
  explicit Utf8Tokens(std::vector<std::string>& texts);

  // The last byte of a token; 0 where it has none.
  [[nodiscard]] unsigned char last_byte(TokenId token) const {
    return token < last_bytes_.size() ? last_bytes_[token] : 0;
  }
  // The tokens that may not follow a text that ends with a byte.
  [[nodiscard]] std::span<const TokenId> forbidden_after(unsigned char byte) const;

 private:
  std::vector<unsigned char> last_bytes_;   // by token
  std::vector<TokenId> after_surrogate_;    // after the first byte of a surrogate
  std::vector<TokenId> after_last_planes_;  // after the first byte of U+100000 and above
};

}  // namespace polystate::grammar
