#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// Turns the tokens of several generations, as they come, into pieces of their texts.
class TextStreams {
 public:
  using OnPiece = std::function<bool(std::size_t input, std::string_view piece)>;

  TextStreams(const Tokenizer& tokenizer, std::size_t inputs, OnPiece on_text);

  // Passes on what `token` completes; false where the caller wants no more of this input.
  bool push(std::size_t input, TokenId token);
  // Passes on what is left of an input that is finished.
  void finish(std::size_t input);

 private:
  std::vector<std::unique_ptr<DecodeStream>> streams_;  // one an input
  OnPiece on_text_;
};

}  // namespace polystate
