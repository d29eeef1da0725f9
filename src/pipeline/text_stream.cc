#include "pipeline/text_stream.h"

#include <cstddef>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

TextStreams::TextStreams(const Tokenizer& tokenizer, std::size_t inputs, OnPiece on_text)
    : on_text_(std::move(on_text)) {
  streams_.reserve(inputs);
  for (std::size_t i = 0; i < inputs; ++i) streams_.push_back(tokenizer.decode_stream());
}

// A token that the vocabulary lacks has no text, as in the whole text that is decoded later, where
// it is an error.
bool TextStreams::push(std::size_t input, TokenId token) {
  const Result<std::string> piece = streams_[input]->push(token);
  return !piece || piece->empty() || on_text_(input, *piece);
}

void TextStreams::finish(std::size_t input) {
  const Result<std::string> rest = streams_[input]->finish();
  if (rest && !rest->empty()) (void)on_text_(input, *rest);
}

}  // namespace polystate
