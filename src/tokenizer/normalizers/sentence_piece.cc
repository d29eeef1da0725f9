#include "tokenizer/normalizers/sentence_piece.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/normalizers/charsmap.h"

namespace polystate::tokenizer {

SentencePieceNormalizer::SentencePieceNormalizer(std::optional<Charsmap> map,
                                                 SentencePieceNormalizerOptions options,
                                                 const std::vector<std::string_view>& user_symbols)
    : map_(std::move(map)), options_(options), has_user_symbols_(!user_symbols.empty()) {
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
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
  Writer(TextEdit& edit, std::string_view space) : edit_(edit), space_(space) {}

  // What `step` made of bytes [begin, begin + step.size).
  void put(const Step& step, std::size_t begin) {
    const std::size_t end = begin + step.size;
    for (std::string_view rest = step.text; !rest.empty();) {
      const std::size_t plain = std::min(rest.find(' '), rest.size());
      edit_.put_for(rest.substr(0, plain), begin, end);
      rest.remove_prefix(plain);
      if (rest.empty()) return;
      edit_.put_for(space_, begin, end);
      rest.remove_prefix(1);
    }
  }

 private:
  TextEdit& edit_;
  std::string_view space_;
};

Status SentencePieceNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  const std::string_view space = options_.escape_whitespaces ? kSpaceMarker : " ";
  const bool squeeze = options_.remove_extra_whitespaces;
  std::size_t position = 0;
  while (squeeze && position < source.size()) {
    const Step next = step(source.substr(position));
    if (next.text != " ") break;
    position += next.size;
  }
  if (position == source.size()) {
    rewrite_text(text, [](TextEdit&) {});
    return {};
  }
  const bool suffix = options_.treat_whitespace_as_suffix;
  AlignedText changed;
  changed.tracks = text.tracks;
  changed.origin = text.origin;
  changed.text.reserve(source.size() + source.size() / 2 + 16);
  TextEdit edit(source, text.alignment, changed.text, text.tracks ? &changed.alignment : nullptr);
  const auto put_dummy = [&](std::size_t at) { edit.put_unaligned(space, text.tracks ? at : 0); };
  if (options_.add_dummy_prefix && !suffix)
    put_dummy(text.tracks ? text.alignment[position].begin : 0);

  Writer writer(edit, space);
  bool after_space = squeeze;
  while (position < source.size()) {
    std::size_t end = position;
    while (end < source.size() && keeps(source[end]) &&
           (end + 1 == source.size() || static_cast<unsigned char>(source[end + 1]) < 0x80)) {
      ++end;
    }
    if (end > position) {
      edit.keep(position, end);
      after_space = false;
      position = end;
      continue;
    }
    Step next = step(source.substr(position));
    while (after_space && next.text.starts_with(' ')) next.text.remove_prefix(1);
    writer.put(next, position);
    if (!next.text.empty()) after_space = next.text.ends_with(' ');
    if (!squeeze) after_space = false;
    position += next.size;
  }
  while (squeeze && changed.text.ends_with(space)) {
    changed.text.resize(changed.text.size() - space.size());
    if (text.tracks) changed.alignment.resize(changed.text.size());
  }
  if (options_.add_dummy_prefix && suffix)
    put_dummy(changed.alignment.empty() ? 0 : changed.alignment.back().end);
  text = std::move(changed);
  return {};
}

}  // namespace polystate::tokenizer
