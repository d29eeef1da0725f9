#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/token.h"

namespace polystate::grammar {

// Which tokens would make malformed UTF-8 of a text. xgrammar lets three and four bytes
// be characters that have no such form: surrogates, what is written in fewer bytes, what lies
// beyond U+10FFFF.
class Utf8Tokens {
 public:
  // How many first bytes of characters not every byte may follow.
  static constexpr std::size_t kFirstBytes = 4;

  // `texts`: the bytes of each token. Those of tokens that are malformed by themselves are cleared.
  explicit Utf8Tokens(std::vector<std::string>& texts);

  // The last byte of a token; 0 where it has none.
  [[nodiscard]] unsigned char last_byte(TokenId token) const {
    return token < last_bytes_.size() ? last_bytes_[token] : 0;
  }
  // The tokens that may not follow a text that ends with a byte.
  [[nodiscard]] std::span<const TokenId> forbidden_after(unsigned char byte) const;

 private:
  std::vector<unsigned char> last_bytes_;                    // by token
  std::array<std::vector<TokenId>, kFirstBytes> forbidden_;  // after each of them
};

}  // namespace polystate::grammar
