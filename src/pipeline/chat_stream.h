#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/text_stream.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// The text of one answer, from its tokens as they come. An end token has none.
class ChatStream {
 public:
  using OnPiece = std::function<bool(std::string_view piece)>;

  struct ControlTokens {
    std::vector<TokenId> ends;
    std::vector<TokenId> markers;  // special tokens that the answer's text has; it has no others
  };

  // `prompt` is what the answer follows. `on_text` is given the answer's text, decoded by itself.
  static Result<ChatStream> start(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                  ControlTokens control, OnPiece on_text);

  // Takes the next token; false where the caller wants no more.
  bool push(TokenId token);

  // Once it is over: the text of all its tokens as it follows the prompt, or what went wrong in
  // between.
  Result<std::string> finish();

  // All but an end token.
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }

 private:
  ChatStream(const Tokenizer& tokenizer, TextStream generated, ControlTokens control,
             OnPiece on_text);

  Status push_texts(TokenId token);
  // Tells the caller, who may want no more.
  void tell(const std::string& piece);

  const Tokenizer* tokenizer_;
  std::unique_ptr<DecodeStream> answer_;
  TextStream generated_;
  ControlTokens control_;
  OnPiece on_text_;
  std::vector<TokenId> tokens_;
  std::string text_;  // of generated_
  bool wants_more_ = true;
  Status status_;
};

}  // namespace polystate
