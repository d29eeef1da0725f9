#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"

namespace polystate::tokenizer {
namespace {

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string marker, PrependScheme scheme, bool split)
      : marker_(std::move(marker)), scheme_(scheme), split_(split) {}
  Status pre_tokenize(PreTokenizedText& text) const override;
  [[nodiscard]] bool needs_origin() const override { return scheme_ == PrependScheme::kFirst; }

 private:
  [[nodiscard]] bool prepends(const PreTokenizedText& text, const Piece& piece) const;

  std::string marker_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

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

std::unique_ptr<const PreTokenizer> metaspace(std::string marker, PrependScheme scheme,
                                              bool split) {
  return std::make_unique<Metaspace>(std::move(marker), scheme, split);
}

}  // namespace polystate::tokenizer
