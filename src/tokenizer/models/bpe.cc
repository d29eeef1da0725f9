#include "tokenizer/models/bpe.h"

#include <algorithm>
#include <array>
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
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {
namespace {

constexpr unsigned kBytes = 256;

std::string_view unit_of_byte(BpeUnit unit, unsigned char byte, char& storage) {
  if (unit == BpeUnit::kAlphabetByte) return alphabet_character(byte).view();
  storage = static_cast<char>(byte);
  return {&storage, 1};
}

}  // namespace

bool has_byte_alphabet(const Vocabulary& vocabulary) {
  for (unsigned byte = 0; byte < kBytes; ++byte) {
    if (!vocabulary.find(alphabet_character(static_cast<unsigned char>(byte)).view())) return false;
  }
  return true;
}

Result<std::unique_ptr<Bpe>> Bpe::create(Vocabulary vocabulary, MergeTable merges,
                                         BpeOptions options) {
  std::unique_ptr<Bpe> bpe(new Bpe(std::move(vocabulary), std::move(merges), std::move(options)));
  const BpeOptions& o = bpe->options_;
  if (o.unknown_token) bpe->unknown_ = bpe->vocabulary().find(*o.unknown_token);
  for (unsigned i = 0; i < kBytes; ++i) {
    const auto byte = static_cast<unsigned char>(i);
    char storage = 0;
    const auto id = bpe->vocabulary().find(unit_of_byte(o.unit, byte, storage));
    if (!id && o.unit != BpeUnit::kCharacter) {
      return Error{ErrorCode::kArtifact,
                   "the vocabulary has no token for the byte " + byte_token(byte)};
    }
    bpe->ids_of_bytes_[i] = id.value_or(kNoSymbol);
    bpe->fallback_[i] = bpe->vocabulary().find(byte_token(byte)).value_or(kNoSymbol);
  }
  return bpe;
}

std::optional<TokenId> Bpe::whole(std::string_view piece) const {
  if (options_.unit != BpeUnit::kAlphabetByte) return vocabulary().find(piece);
  std::string written;
  for (const char byte : piece)
    written += alphabet_character(static_cast<unsigned char>(byte)).view();
  return vocabulary().find(written);
}

// Cuts one piece into units and finds the token of each.
class Bpe::Splitter {
 public:
  Splitter(const Bpe& bpe, std::string_view piece, std::vector<Token>& tokens)
      : bpe_(bpe), piece_(piece), tokens_(tokens) {}

  Status split() {
    const BpeOptions& options = bpe_.options_;
    const bool bytes = options.unit != BpeUnit::kCharacter;
    const bool plain =
        options.continuing_subword_prefix.empty() && options.end_of_word_suffix.empty();
    for (std::size_t i = 0; i < piece_.size();) {
      const std::uint32_t size = bytes ? 1 : character_size(piece_[i]);
      const std::string_view text = piece_.substr(i, size);
      const Status found =
          size == 1 && plain
              ? put(bpe_.ids_of_bytes_[static_cast<unsigned char>(text[0])], text, size)
              : put_looked_up(i, text, plain);
      if (!found) return found;
      i += size;
    }
    flush();
    return {};
  }

 private:
  Status put_looked_up(std::size_t position, std::string_view text, bool plain) {
    if (plain) return put(bpe_.vocabulary().find(text).value_or(kNoSymbol), text, text.size());
    std::string unit;
    if (position > 0) unit += bpe_.options_.continuing_subword_prefix;
    unit += text;
    if (position + text.size() == piece_.size()) unit += bpe_.options_.end_of_word_suffix;
    return put(bpe_.vocabulary().find(unit).value_or(kNoSymbol), unit, text.size());
  }

  // Appends the token of a unit that stands for `size` bytes of the piece.
  Status put(std::uint32_t id, std::string_view unit, std::size_t size) {
    if (id != kNoSymbol) {
      flush();
      append(id, static_cast<std::uint32_t>(size));
      return {};
    }
    if (bpe_.options_.byte_fallback && put_bytes(unit)) return {};
    if (!bpe_.options_.unknown_token) return {};
    if (!bpe_.unknown_) {
      return Error{ErrorCode::kContract, "the text has '" + std::string(unit) +
                                             "', which the vocabulary lacks, and it lacks the "
                                             "unknown token '" +
                                             *bpe_.options_.unknown_token + "' too"};
    }
    if (!bpe_.options_.fuse_unknown) flush();
    unknown_size_ += static_cast<std::uint32_t>(size);
    return {};
  }

  bool put_bytes(std::string_view unit) {
    for (const char byte : unit) {
      if (bpe_.fallback_[static_cast<unsigned char>(byte)] == kNoSymbol) return false;
    }
    for (const char byte : unit) append(bpe_.fallback_[static_cast<unsigned char>(byte)], 1);
    return true;
  }

  void flush() {
    if (unknown_size_ > 0 && bpe_.unknown_) append(*bpe_.unknown_, unknown_size_);
    unknown_size_ = 0;
  }

  // Appends a token of the next `size` bytes; with a suffix, units may have more than the piece.
  void append(TokenId id, std::uint32_t size) {
    const auto limit = static_cast<std::uint32_t>(piece_.size());
    tokens_.push_back({id, std::min(position_, limit), std::min(position_ + size, limit)});
    position_ += size;
  }

  const Bpe& bpe_;
  std::string_view piece_;
  std::vector<Token>& tokens_;
  std::uint32_t position_ = 0;      // bytes that have tokens
  std::uint32_t unknown_size_ = 0;  // bytes of unknown units, after those
};

Status Bpe::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  if (options_.ignore_merges) {
    if (const auto id = whole(piece)) {
      tokens.push_back({*id, 0, static_cast<std::uint32_t>(piece.size())});
      return {};
    }
  }
  const std::size_t first = tokens.size();
  tokens.reserve(first + piece.size());
  if (const Status split = Splitter(*this, piece, tokens).split(); !split) return split;
  merge_tokens(merges_, first, tokens);
  return {};
}

}  // namespace polystate::tokenizer
