#include "tokenizer/models/sentence_piece_bpe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {
namespace {

// Marks the symbol of a user-defined piece that was found as such, so that no merge has it.
constexpr std::uint32_t kWhole = std::uint32_t{1} << 31U;

// 0 for the highest score, the same number for equal ones.
std::vector<std::uint32_t> ranks_of(const std::vector<BpePiece>& pieces) {
  std::vector<float> scores;
  scores.reserve(pieces.size());
  for (const BpePiece& piece : pieces) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<std::uint32_t> ranks;
  ranks.reserve(pieces.size());
  for (const BpePiece& piece : pieces) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>());
    ranks.push_back(static_cast<std::uint32_t>(at - scores.begin()));
  }
  return ranks;
}

}  // namespace

Result<std::unique_ptr<SentencePieceBpe>> SentencePieceBpe::create(
    Vocabulary vocabulary, const std::vector<BpePiece>& pieces, SentencePieceBpeOptions options) {
  if (vocabulary.id_limit() > Trie::kMaxValue) {
    return Error{ErrorCode::kUnsupported,
                 "the vocabulary has " + std::to_string(vocabulary.id_limit()) +
                     " pieces; the limit is " + std::to_string(Trie::kMaxValue)};
  }
  std::unique_ptr<SentencePieceBpe> model(new SentencePieceBpe(std::move(vocabulary), options));
  std::vector<std::pair<std::string_view, std::uint32_t>> user_symbols;
  for (const BpePiece& piece : pieces) {
    if (piece.text.size() > kMaxPieceBytes) {
      return Error{ErrorCode::kUnsupported, "piece " + std::to_string(piece.id) + " has " +
                                                std::to_string(piece.text.size()) +
                                                " bytes; the limit is " +
                                                std::to_string(kMaxPieceBytes)};
    }
    if (const Status added = model->symbols_.add(piece.text, piece.id); !added)
      return added.error();
    if (piece.user_defined) user_symbols.emplace_back(piece.text, piece.id);
  }
  model->has_user_symbols_ = !user_symbols.empty();
  model->user_symbols_ = Trie::build(std::move(user_symbols));
  if (options.merges) {
    if (const Status added = model->add_merges(pieces); !added) return added.error();
  }
  for (unsigned c = 0; c < model->ascii_.size(); ++c) {
    const char byte = static_cast<char>(c);
    model->ascii_[c] = model->symbols_.find({&byte, 1}).value_or(kNoSymbol);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    model->fallback_[byte] = model->vocabulary()
                                 .find(byte_token(static_cast<unsigned char>(byte)))
                                 .value_or(options.unknown);
  }
  return model;
}

Status SentencePieceBpe::add_merges(const std::vector<BpePiece>& pieces) {
  auto next = static_cast<TokenId>(vocabulary().id_limit());
  for (const BpePiece& piece : pieces) {
    const std::string_view text = piece.text;
    for (std::size_t i = 0; i < text.size(); i += character_size(text[i])) {
      const std::string_view character = text.substr(i, character_size(text[i]));
      if (symbols_.find(character)) continue;
      if (const Status added = symbols_.add(character, next++); !added) return added;
    }
  }
  const std::vector<std::uint32_t> ranks = ranks_of(pieces);
  merges_.reserve(2 * pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::string_view text = pieces[p].text;
    for (std::size_t i = character_size(text[0]); i < text.size(); i += character_size(text[i])) {
      const auto left = symbols_.find(text.substr(0, i));
      if (!left) continue;
      const auto right = symbols_.find(text.substr(i));
      if (right) merges_.add(*left, *right, {ranks[p], pieces[p].id});
    }
  }
  return {};
}

// The user-defined symbol at `begin` of the piece.
std::optional<Token> SentencePieceBpe::user_symbol(std::string_view piece,
                                                   std::uint32_t begin) const {
  std::optional<Token> longest;
  Trie::Node node = Trie::kRoot;
  for (std::uint32_t i = begin; i < piece.size(); ++i) {
    node = user_symbols_.child(node, piece[i]);
    if (node == Trie::kNone) break;
    if (user_symbols_.has_value(node)) longest = {user_symbols_.value(node) | kWhole, begin, i + 1};
  }
  return longest;
}

// The id of what a symbol is at last.
TokenId SentencePieceBpe::id_of(TokenId symbol) const {
  if (symbol == kNoSymbol) return options_.unknown;
  const TokenId id = symbol & ~kWhole;
  return id < vocabulary().id_limit() ? id : options_.unknown;
}

// Neighbouring unknown symbols become one token.
void SentencePieceBpe::join_unknown(std::size_t first, std::vector<Token>& tokens) const {
  std::size_t size = first;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const bool joins =
        size > first && tokens[i].id == options_.unknown && tokens[size - 1].id == options_.unknown;
    if (joins) {
      tokens[size - 1].end = tokens[i].end;
    } else {
      tokens[size++] = tokens[i];
    }
  }
  tokens.resize(size);
}

// Unknown symbols become the tokens of their bytes.
void SentencePieceBpe::split_unknown(std::string_view piece, std::size_t first,
                                     std::vector<Token>& tokens) const {
  const auto is_unknown = [this](const Token& token) { return token.id == options_.unknown; };
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::none_of(begin, tokens.end(), is_unknown)) return;
  const std::vector<Token> whole(begin, tokens.end());
  tokens.resize(first);
  for (const Token& token : whole) {
    if (!is_unknown(token)) {
      tokens.push_back(token);
      continue;
    }
    for (const char byte : piece.substr(token.begin, token.end - token.begin))
      tokens.push_back({fallback_[static_cast<unsigned char>(byte)], token.begin, token.end});
  }
}

Status SentencePieceBpe::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  const std::size_t first = tokens.size();
  for (std::uint32_t i = 0; i < piece.size(); i = tokens.back().end) {
    const auto whole = has_user_symbols_ ? user_symbol(piece, i) : std::nullopt;
    if (whole) {
      tokens.push_back(*whole);
      continue;
    }
    const std::uint32_t size = character_size(piece[i]);
    const std::uint32_t id = size == 1 ? ascii_[static_cast<unsigned char>(piece[i])]
                                       : symbols_.find(piece.substr(i, size)).value_or(kNoSymbol);
    tokens.push_back({id, i, i + size});
  }
  merge_tokens(merges_, first, tokens);
  for (std::size_t i = first; i < tokens.size(); ++i) tokens[i].id = id_of(tokens[i].id);
  if (options_.byte_fallback) {
    split_unknown(piece, first, tokens);
  } else {
    join_unknown(first, tokens);
  }
  return {};
}

}  // namespace polystate::tokenizer
