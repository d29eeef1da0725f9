#include "tokenizer/pre_tokenizers/metaspace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"

namespace polystate::tokenizer {

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

}  // namespace polystate::tokenizer
