#include "tokenizer/models/unigram.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

Result<std::unique_ptr<Unigram>> Unigram::create(Vocabulary vocabulary,
                                                 std::vector<UnigramToken> tokens,
                                                 UnigramOptions options) {
  if (vocabulary.id_limit() > Trie::kMaxValue) {
    return Error{ErrorCode::kUnsupported,
                 "the vocabulary has " + std::to_string(vocabulary.id_limit()) +
                     " tokens; the limit is " + std::to_string(Trie::kMaxValue)};
  }
  if (options.unknown && *options.unknown >= tokens.size()) {
    return Error{ErrorCode::kArtifact, "the unknown token is " + std::to_string(*options.unknown) +
                                           " of " + std::to_string(tokens.size())};
  }
  std::unique_ptr<Unigram> unigram(new Unigram(std::move(vocabulary), std::move(tokens), options));
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  for (TokenId id = 0; id < unigram->tokens_.size(); ++id) {
    const auto token = unigram->vocabulary().token(id);
    if (!token || !unigram->tokens_[id].usable) continue;
    entries.emplace_back(*token, id);
    unigram->longest_token_ = std::max(unigram->longest_token_, token->size());
  }
  unigram->trie_ = Trie::build(std::move(entries));
  for (unsigned byte = 0; byte < 256; ++byte) {
    unigram->fallback_[byte] =
        unigram->vocabulary().find(byte_token(static_cast<unsigned char>(byte)));
  }
  return unigram;
}

// SentencePiece 0.2.3 keeps sums where floats are dense: past this one, it counts anew from the
// first, as only differences matter.
void Unigram::keep_small(Lattice<float>& lattice, std::uint32_t begin, std::uint32_t frontier) {
  constexpr float kMostScore = 100000;
  const float first = lattice.score(begin);
  if (first >= -kMostScore && first <= kMostScore) return;
  lattice.score(begin) = 0;
  for (std::uint32_t end = begin + 1; end <= frontier; ++end) {
    if (lattice.lasts[end].begin != kNowhere) lattice.score(end) -= first;
  }
}

template <typename Score>
std::optional<std::uint32_t> Unigram::offer_tokens(std::string_view piece, std::uint32_t begin,
                                                   Lattice<Score>& lattice) const {
  const std::uint32_t single = begin + character_size(piece[begin]);
  const Score so_far = lattice.score(begin);
  bool has_single = false;
  std::uint32_t longest = single;
  Trie::Node node = Trie::kRoot;
  for (std::uint32_t end = begin; end < piece.size();) {
    node = trie_.child(node, piece[end++]);
    if (node == Trie::kNone) break;
    if (!trie_.has_value(node)) continue;
    const TokenId id = trie_.value(node);
    const UnigramToken& token = tokens_[id];
    const double score = token.by_length ? (end - begin - 1) * token.score : token.score;
    lattice.offer(end, static_cast<Score>(score) + so_far, {id, begin});
    has_single = has_single || end == single;
    longest = std::max(longest, end);
  }
  if (has_single) return longest;
  if (!options_.unknown) return std::nullopt;
  lattice.offer(single, static_cast<Score>(options_.unknown_score) + so_far,
                {*options_.unknown, begin});
  return longest;
}

template <typename Score>
bool Unigram::segment(std::string_view piece, std::vector<Token>& tokens) const {
  const auto size = static_cast<std::uint32_t>(piece.size());
  Lattice<Score> lattice(size, longest_token_);
  std::uint32_t frontier = 0;  // where the longest segmentation so far ends
  for (std::uint32_t begin = 0; begin < size; begin += character_size(piece[begin])) {
    if constexpr (std::is_same_v<Score, float>) keep_small(lattice, begin, frontier);
    const auto end = offer_tokens(piece, begin, lattice);
    if (!end) return false;
    frontier = std::max(frontier, *end);
  }
  const std::size_t first = tokens.size();
  for (std::uint32_t end = size; end > 0; end = lattice.lasts[end].begin)
    tokens.push_back({lattice.lasts[end].id, lattice.lasts[end].begin, end});
  std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
  return true;
}

bool Unigram::put_bytes(std::string_view text, Token unknown, std::vector<Token>& tokens) const {
  const std::size_t before = tokens.size();
  for (const char byte : text) {
    const auto id = fallback_[static_cast<unsigned char>(byte)];
    if (!id) {
      tokens.resize(before);
      return false;
    }
    tokens.push_back({*id, unknown.begin, unknown.end});
  }
  return true;
}

void Unigram::put_unknown(std::string_view piece, Token unknown, std::vector<Token>& tokens) const {
  const std::string_view text = piece.substr(unknown.begin, unknown.end - unknown.begin);
  if (const auto id = vocabulary().find(text); id && !options_.single_precision) {
    tokens.push_back({*id, unknown.begin, unknown.end});
    return;
  }
  if (!options_.byte_fallback || !put_bytes(text, unknown, tokens)) tokens.push_back(unknown);
}

// Neighbouring unknown characters become one token, or those of their bytes.
void Unigram::join_unknown(std::string_view piece, std::size_t first,
                           std::vector<Token>& tokens) const {
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
  const auto unknown = std::find_if(
      begin, tokens.end(), [this](const Token& token) { return token.id == options_.unknown; });
  const std::vector<Token> rest(unknown, tokens.end());
  tokens.erase(unknown, tokens.end());
  for (std::size_t i = 0; i < rest.size();) {
    Token token = rest[i++];
    if (token.id != options_.unknown) {
      tokens.push_back(token);
      continue;
    }
    while (i < rest.size() && rest[i].id == options_.unknown) token.end = rest[i++].end;
    put_unknown(piece, token, tokens);
  }
}

Status Unigram::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  const std::size_t first = tokens.size();
  const bool found =
      options_.single_precision ? segment<float>(piece, tokens) : segment<double>(piece, tokens);
  if (!found) {
    return Error{ErrorCode::kContract,
                 "the text has a character that the vocabulary lacks, and no token for unknown "
                 "ones is given"};
  }
  join_unknown(piece, first, tokens);
  return {};
}

}  // namespace polystate::tokenizer
