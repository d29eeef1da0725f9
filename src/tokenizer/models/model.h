#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

// A token, and the bytes of the piece that it stands for.
struct Token {
  TokenId id;
  std::uint32_t begin;
  std::uint32_t end;
};

// Turns a piece of normalized text into tokens. It owns its vocabulary. Immutable, and shared by
// threads.
class Model {
 public:
  explicit Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // Appends the tokens of `piece`, which is not empty; it is valid UTF-8, or any bytes where the
  // model was built for bytes. kContract when it has a character that the vocabulary lacks and the
  // model has no token for unknown ones.
  virtual Status tokenize(std::string_view piece, std::vector<Token>& tokens) const = 0;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  // The number of tokens: the id of the first that is added.
  [[nodiscard]] virtual std::size_t size() const { return vocabulary_.size(); }

 private:
  Vocabulary vocabulary_;
};

// The token "<0x0A>" of a byte, as vocabularies with byte fallback write it, and back.
std::string byte_token(unsigned char byte);
std::optional<unsigned char> byte_of_token(std::string_view token);

}  // namespace polystate::tokenizer
