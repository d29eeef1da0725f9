#include "tokenizer/pre_tokenizers/simple.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/unicode/byte_alphabet.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {

Status SpacePrefix::pre_tokenize(PreTokenizedText& text) const {
  const auto needs_prefix = [&](const Piece& piece) {
    return !piece.token && text.text()[piece.begin] != ' ';
  };
  if (std::none_of(text.pieces().begin(), text.pieces().end(), needs_prefix)) return {};
  text.rewrite([&](const Piece& piece, TextEdit& edit) {
    if (needs_prefix(piece)) edit.put(" ", piece.begin);
    edit.keep(piece.begin, piece.end);
  });
  return {};
}

Status ByteAlphabet::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.rewrite([&](const Piece& piece, TextEdit& edit) {
    for (std::uint32_t i = piece.begin; i < piece.end; ++i)
      edit.put(alphabet_character(static_cast<unsigned char>(source[i])).view(), i);
  });
  return {};
}

Status BertPreTokenizer::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    std::uint32_t begin = piece.begin;
    const auto close = [&](std::uint32_t end) {
      if (begin < end) out.push_back({begin, end, {}});
    };
    for (std::uint32_t i = piece.begin; i < piece.end;) {
      const Utf8Character character = character_at(source, i);
      const std::uint32_t end = i + character.size;
      if (is_white_space(character.code_point)) {
        close(i);
        begin = end;
      } else if (character.code_point < 0x80 ? is_ascii_punctuation(character.code_point)
                                             : is_punctuation(character.code_point)) {
        close(i);
        out.push_back({i, end, {}});
        begin = end;
      }
      i = end;
    }
    close(piece.end);
  });
  return {};
}

bool Metaspace::prepends(const PreTokenizedText& text, const Piece& piece) const {
  const std::string_view content = text.text_of(piece);
  if (scheme_ == PrependScheme::kNever || content.starts_with(marker_)) return false;
  if (content.starts_with(' ')) return false;  // it becomes a marker
  return scheme_ == PrependScheme::kAlways || text.origin(piece) == 0;
}

Status Metaspace::pre_tokenize(PreTokenizedText& text) const {
  text.rewrite([&](const Piece& piece, TextEdit& edit) {
    if (prepends(text, piece)) edit.put(marker_, piece.begin);
    const std::string_view content = text.text_of(piece);
    for (std::size_t i = 0; i < content.size();) {
      const std::size_t space = std::min(content.find(' ', i), content.size());
      edit.keep(piece.begin + i, piece.begin + space);
      if (space < content.size()) edit.put(marker_, piece.begin + space);
      i = space + 1;
    }
  });
  if (!split_) return {};
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    const std::string_view content = text.text_of(piece);
    std::uint32_t begin = 0;
    for (std::size_t at = content.find(marker_, 1); at != std::string_view::npos;
         at = content.find(marker_, at + marker_.size())) {
      const auto end = static_cast<std::uint32_t>(at);
      out.push_back({piece.begin + begin, piece.begin + end, {}});
      begin = end;
    }
    out.push_back({piece.begin + begin, piece.end, {}});
  });
  return {};
}

Status FixedLength::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    for (std::uint32_t begin = piece.begin; begin < piece.end;) {
      std::uint32_t end = begin;
      for (std::size_t count = 0; count < length_ && end < piece.end; ++count)
        end += character_size(source[end]);
      out.push_back({begin, end, {}});
      begin = end;
    }
  });
  return {};
}

Status MarkerSplit::pre_tokenize(PreTokenizedText& text) const {
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    const std::string_view content = text.text_of(piece);
    std::uint32_t begin = 0;
    for (std::size_t run = content.find(marker_); run != std::string_view::npos;) {
      std::size_t run_end = run;
      while (content.substr(run_end).starts_with(marker_)) run_end += marker_.size();
      const auto cut = static_cast<std::uint32_t>(after_ ? run_end : run);
      if (cut > begin && cut < content.size()) {
        out.push_back({piece.begin + begin, piece.begin + cut, {}});
        begin = cut;
      }
      run = content.find(marker_, run_end);
    }
    out.push_back({piece.begin + begin, piece.end, {}});
  });
  return {};
}

}  // namespace polystate::tokenizer
