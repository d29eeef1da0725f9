#include "tokenizer/normalizers/sentence_piece.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

SentencePieceNormalizer::SentencePieceNormalizer(std::optional<Charsmap> map,
                                                 SentencePieceNormalizerOptions options,
                                                 const std::vector<std::string_view>& user_symbols)
    : map_(std::move(map)), options_(options), has_user_symbols_(!user_symbols.empty()) {
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  entries.reserve(user_symbols.size());
  for (const std::string_view symbol : user_symbols) entries.emplace_back(symbol, 0);
  user_symbols_ = Trie::build(std::move(entries));
  for (unsigned c = 0; c < kept_.size(); ++c) {
    const char byte = static_cast<char>(c);
    kept_[c] = c != ' ' && user_symbols_.child(Trie::kRoot, byte) == Trie::kNone &&
               (!map_ || map_->keeps_ascii(byte));
  }
}

SentencePieceNormalizer::Step SentencePieceNormalizer::step(std::string_view rest) const {
  if (has_user_symbols_) {
    std::size_t longest = 0;
    Trie::Node node = Trie::kRoot;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      node = user_symbols_.child(node, rest[i]);
      if (node == Trie::kNone) break;
      if (user_symbols_.has_value(node)) longest = i + 1;
    }
    if (longest > 0) return {rest.substr(0, longest), longest};
  }
  if (map_) {
    if (const auto match = map_->longest(rest)) return {match->replacement, match->size};
  }
  const std::size_t size = character_size(rest[0]);
  return {rest.substr(0, size), size};
}

// Writes the normalized text, spaces as they are to be.
class SentencePieceNormalizer::Writer {
 public:
  Writer(const SentencePieceNormalizer& normalizer, AlignedText& text)
      : normalizer_(normalizer),
        text_(text),
        source_(text.text),
        space_(normalizer.options_.escape_whitespaces ? kSpaceMarker : " ") {
    changed_.tracks = text.tracks;
    changed_.origin = text.origin;
    changed_.text.reserve(source_.size() + source_.size() / 2 + 16);
  }

  Status write() {
    const SentencePieceNormalizerOptions& options = normalizer_.options_;
    if (options.remove_extra_whitespaces) skip_spaces();
    if (position_ < source_.size()) {
      const bool suffix = options.treat_whitespace_as_suffix;
      if (options.add_dummy_prefix && !suffix)
        put_dummy(text_.tracks ? text_.alignment[position_].begin : 0);
      if (const Status done = put_all(); !done) return done;
      if (options.remove_extra_whitespaces) remove_last_spaces();
      if (options.add_dummy_prefix && suffix)
        put_dummy(changed_.alignment.empty() ? 0 : changed_.alignment.back().end);
    }
    text_ = std::move(changed_);
    return {};
  }

 private:
  void skip_spaces() {
    while (position_ < source_.size()) {
      const Step next = normalizer_.step(source_.substr(position_));
      if (next.text != " ") return;
      position_ += next.size;
    }
  }

  Status put_all() {
    const bool squeeze = normalizer_.options_.remove_extra_whitespaces;
    bool after_space = squeeze;
    while (position_ < source_.size()) {
      if (keep_run()) {
        after_space = false;
        continue;
      }
      Step next = normalizer_.step(source_.substr(position_));
      while (after_space && next.text.starts_with(' ')) next.text.remove_prefix(1);
      put(next);
      if (changed_.text.size() > kMaxNormalizedBytes) return grew_too_much(changed_.text.size());
      if (!next.text.empty()) after_space = squeeze && next.text.ends_with(' ');
      position_ += next.size;
    }
    return {};
  }

  // Copies the ASCII characters that stay as they are, whatever follows; false where there is none.
  bool keep_run() {
    std::size_t end = position_;
    while (end < source_.size() && normalizer_.keeps(source_[end]) &&
           (end + 1 == source_.size() || static_cast<unsigned char>(source_[end + 1]) < 0x80)) {
      ++end;
    }
    if (end == position_) return false;
    edit_.keep(position_, end);
    position_ = end;
    return true;
  }

  // What becomes of the bytes of the source at the position.
  void put(const Step& step) {
    const std::size_t end = position_ + step.size;
    for (std::string_view rest = step.text; !rest.empty();) {
      const std::size_t plain = std::min(rest.find(' '), rest.size());
      edit_.put_for(rest.substr(0, plain), position_, end);
      rest.remove_prefix(plain);
      if (rest.empty()) return;
      edit_.put_for(space_, position_, end);
      rest.remove_prefix(1);
    }
  }

  void put_dummy(std::uint32_t origin) { edit_.put_unaligned(space_, origin); }

  void remove_last_spaces() {
    std::string& text = changed_.text;
    while (text.ends_with(space_)) text.resize(text.size() - space_.size());
    if (changed_.tracks) changed_.alignment.resize(text.size());
  }

  const SentencePieceNormalizer& normalizer_;
  AlignedText& text_;
  std::string_view source_;
  std::string_view space_;
  std::size_t position_ = 0;  // in the source
  AlignedText changed_;
  TextEdit edit_{source_, text_.alignment, changed_.text,
                 text_.tracks ? &changed_.alignment : nullptr};
};

Status SentencePieceNormalizer::normalize(AlignedText& text) const {
  return Writer(*this, text).write();
}

}  // namespace polystate::tokenizer
