#include "tokenizer/models/word_piece.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

Result<std::unique_ptr<WordPiece>> WordPiece::create(Vocabulary vocabulary,
                                                     WordPieceOptions options) {
  if (vocabulary.id_limit() > Trie::kMaxValue) {
    return Error{ErrorCode::kUnsupported, "the vocabulary has ids up to " +
                                              std::to_string(vocabulary.id_limit()) +
                                              "; the limit is " + std::to_string(Trie::kMaxValue)};
  }
  std::unique_ptr<WordPiece> model(new WordPiece(std::move(vocabulary), std::move(options)));
  model->unknown_ = model->vocabulary().find(model->options_.unknown_token);
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  for (TokenId id = 0; id < model->vocabulary().id_limit(); ++id) {
    if (const auto token = model->vocabulary().token(id)) entries.emplace_back(*token, id);
  }
  model->trie_ = Trie::build(std::move(entries));
  model->continuation_ = model->trie_.walk(Trie::kRoot, model->options_.continuing_subword_prefix);
  return model;
}

Status WordPiece::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  const std::size_t before = tokens.size();
  const auto size = static_cast<std::uint32_t>(piece.size());
  bool known = count_characters(piece) <= options_.max_input_chars_per_word;
  for (std::uint32_t begin = 0; known && begin < size;) {
    Trie::Node node = begin == 0 ? Trie::kRoot : continuation_;
    std::optional<Token> longest;
    for (std::uint32_t end = begin; node != Trie::kNone && end < size;) {
      node = trie_.child(node, piece[end++]);
      if (node != Trie::kNone && trie_.has_value(node)) longest = {trie_.value(node), begin, end};
    }
    known = longest.has_value();
    if (!known) break;
    tokens.push_back(*longest);
    begin = longest->end;
  }
  if (known) return {};
  tokens.resize(before);
  if (!unknown_) {
    return Error{ErrorCode::kContract,
                 "the vocabulary lacks a piece of the text, and the unknown "
                 "token '" +
                     options_.unknown_token + "' too"};
  }
  tokens.push_back({*unknown_, 0, size});
  return {};
}

}  // namespace polystate::tokenizer
