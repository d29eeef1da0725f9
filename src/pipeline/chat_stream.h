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

  // `prompt` is what the answer follows; `on_text` may be null.
  static Result<ChatStream> start(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                  std::vector<TokenId> ends, OnPiece on_text);

  // Takes the next token; false where the caller wants no more.
  bool push(TokenId token);

  struct Texts {
    std::string answer;     // decoded by itself, without special tokens
    std::string generated;  // with them, as it follows the prompt
  };
  // Once it is over: its texts, or what went wrong in between.
  Result<Texts> finish();

  // All but an end token.
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }

 private:
  ChatStream(std::unique_ptr<DecodeStream> answer, TextStream generated, std::vector<TokenId> ends,
             OnPiece on_text)
      : answer_(std::move(answer)),
        generated_(std::move(generated)),
        ends_(std::move(ends)),
        on_text_(std::move(on_text)) {}

  Status push_texts(TokenId token);
  // Appends to the answer, and tells the caller, as long as that wants more.
  void tell(const std::string& piece);

  std::unique_ptr<DecodeStream> answer_;
  TextStream generated_;
  std::vector<TokenId> ends_;
  OnPiece on_text_;
  std::vector<TokenId> tokens_;
  Texts texts_;
  bool wants_more_ = true;
  Status status_;
};

}  // namespace polystate
