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

Result<ChatStream> ChatStream::start(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                     std::vector<TokenId> ends, OnPiece on_text) {
  Result<TextStream> generated = TextStream::start(
      tokenizer, prompt.last(std::min(kBefore, prompt.size())), {.skip_special_tokens = false});
  if (!generated) return generated.error();
  return ChatStream(tokenizer.decode_stream(), std::move(*generated), std::move(ends),
                    std::move(on_text));
}

bool ChatStream::push(TokenId token) {
  if (std::ranges::find(ends_, token) != ends_.end()) return true;
  tokens_.push_back(token);
  if (status_) status_ = push_texts(token);
  return status_ && wants_more_;
}

Status ChatStream::push_texts(TokenId token) {
  const Result<std::string> generated = generated_.push(token);
  if (!generated) return generated.error();
  texts_.generated += *generated;
  const Result<std::string> answer = answer_->push(token);
  // A token that the vocabulary lacks, which a model may have more of, has no text.
  if (!answer && answer.error().code == ErrorCode::kContract) return {};
  if (!answer) return answer.error();
  tell(*answer);
  return {};
}

void ChatStream::tell(const std::string& piece) {
  if (piece.empty()) return;
  texts_.answer += piece;
  if (wants_more_ && on_text_ != nullptr) wants_more_ = on_text_(piece);
}

Result<ChatStream::Texts> ChatStream::finish() {
  if (!status_) return status_.error();
  const Result<std::string> generated = generated_.finish();
  if (!generated) return generated.error();
  texts_.generated += *generated;
  const Result<std::string> rest = answer_->finish();
  if (!rest) return rest.error();
  tell(*rest);
  return std::move(texts_);
}

}  // namespace polystate
