#include "pipeline/chat_stream.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/text_stream.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// Tokens of a prompt that decide how the text after it begins: a space that is left out, or the
// rest of a character.
constexpr std::size_t kBefore = 16;

}  // namespace

ChatStream::ChatStream(const Tokenizer& tokenizer, TextStream generated, ControlTokens control,
                       OnPiece on_text)
    : tokenizer_(&tokenizer),
      answer_(tokenizer.decode_stream({.skip_special_tokens = false})),
      generated_(std::move(generated)),
      control_(std::move(control)),
      on_text_(std::move(on_text)) {}

Result<ChatStream> ChatStream::start(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                     ControlTokens control, OnPiece on_text) {
  Result<TextStream> generated = TextStream::start(
      tokenizer, prompt.last(std::min(kBefore, prompt.size())), {.skip_special_tokens = false});
  if (!generated) return generated.error();
  return ChatStream(tokenizer, std::move(*generated), std::move(control), std::move(on_text));
}

bool ChatStream::push(TokenId token) {
  if (std::ranges::find(control_.ends, token) != control_.ends.end()) return true;
  tokens_.push_back(token);
  if (status_) status_ = push_texts(token);
  return status_ && wants_more_;
}

Status ChatStream::push_texts(TokenId token) {
  const Result<std::string> generated = generated_.push(token);
  if (!generated) return generated.error();
  text_ += *generated;
  const std::vector<TokenId>& markers = control_.markers;
  const bool is_marker = std::ranges::find(markers, token) != markers.end();
  if (!is_marker && tokenizer_->is_special(token)) return {};
  const Result<std::string> answer = answer_->push(token);
  // A token that the vocabulary lacks, which a model may have more of, has no text.
  if (!answer && answer.error().code == ErrorCode::kContract) return {};
  if (!answer) return answer.error();
  tell(*answer);
  return {};
}

void ChatStream::tell(const std::string& piece) {
  if (!piece.empty() && !on_text_(piece)) wants_more_ = false;
}

Result<std::string> ChatStream::finish() {
  if (!status_) return status_.error();
  const Result<std::string> generated = generated_.finish();
  if (!generated) return generated.error();
  text_ += *generated;
  const Result<std::string> rest = answer_->finish();
  if (!rest) return rest.error();
  tell(*rest);
  return std::move(text_);
}

}  // namespace polystate
