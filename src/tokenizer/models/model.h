#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

// A token, and the bytes of the piece that it stands for.
struct Token {
  TokenId id;
  std::uint32_t begin;
  std::uint32_t end;
};

// Turns a piece of normalized text into tokens. Immutable, and shared by threads.
class Model {
 public:
  virtual ~Model() = default;

  // Appends the tokens of `piece`, which is not empty; it is valid UTF-8, or any bytes where the
  // model was built for bytes. kContract when it has a character that the vocabulary lacks and the
  // model has no token for unknown ones.
  virtual Status tokenize(std::string_view piece, std::vector<Token>& tokens) const = 0;

  [[nodiscard]] virtual std::optional<TokenId> token_to_id(std::string_view token) const = 0;
  [[nodiscard]] virtual std::optional<std::string_view> id_to_token(TokenId id) const = 0;
  // The number of tokens, and one more than the largest id.
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t id_limit() const = 0;
};

// The token "<0x0A>" of a byte, as vocabularies with byte fallback write it, and back.
std::string byte_token(unsigned char byte);
std::optional<unsigned char> byte_of_token(std::string_view token);

}  // namespace polystate::tokenizer
