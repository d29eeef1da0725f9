#include "pipeline/text_stream.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

// How many bytes of whole characters two texts begin with alike.
std::size_t common_prefix(const std::string& left, const std::string& right) {
  auto size = static_cast<std::size_t>(std::ranges::mismatch(left, right).in1 - left.begin());
  while (size > 0 && size < left.size() && !starts_character(left[size])) --size;
  return size;
}

}  // namespace

Result<TextStream> TextStream::start(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                     const DecodeOptions& options) {
  std::vector<TokenId> known(prompt.begin(), prompt.end());
  std::erase_if(known, [&](TokenId id) { return !tokenizer.id_to_token(id).has_value(); });
  TextStream started(tokenizer.decode_stream(options));
  std::size_t given = 0;
  for (const TokenId token : known) {
    const Result<std::string> piece = started.stream_->push(token);
    if (!piece) return piece.error();
    given += piece->size();
  }
  const Result<std::string> text = tokenizer.decode(known, options);
  if (!text) return text.error();
  started.prompt_rest_ = text->substr(std::min(given, text->size()));
  return started;
}

Result<std::string> TextStream::push(TokenId token) {
  Result<std::string> piece = stream_->push(token);
  if (piece) return without_prompt(std::move(*piece));
  if (piece.error().code == ErrorCode::kContract) return std::string();
  return piece;
}

Result<std::string> TextStream::finish() {
  Result<std::string> piece = stream_->finish();
  if (!piece) return piece;
  return without_prompt(std::move(*piece));
}

// What follows may change the end of the prompt's text: from there on, it is the generation's.
std::string TextStream::without_prompt(std::string piece) {
  if (prompt_rest_.empty() || piece.empty()) return piece;
  const std::size_t size = common_prefix(piece, prompt_rest_);
  prompt_rest_.erase(0, size == piece.size() ? size : prompt_rest_.size());
  piece.erase(0, size);
  return piece;
}

}  // namespace polystate
