#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// Turns the tokens of one generation, as they come, into pieces of its text. The text goes on from
// a prompt: it is what decoding gives for prompt and tokens together, without what it gives for the
// prompt alone, so that a first word keeps the space before it. Tokens that the vocabulary lacks,
// which a model may have more of, have no text.
class TextStream {
 public:
  static Result<TextStream> start(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                  const DecodeOptions& options = {});

  // The text that `token` completes.
  Result<std::string> push(TokenId token);
  // The text that is left when no token follows.
  Result<std::string> finish();

 private:
  explicit TextStream(std::unique_ptr<DecodeStream> stream) : stream_(std::move(stream)) {}

  [[nodiscard]] std::string without_prompt(std::string piece);

  std::unique_ptr<DecodeStream> stream_;
  std::string prompt_rest_;  // the end of the prompt's text, which the stream has yet to give
};

}  // namespace polystate
