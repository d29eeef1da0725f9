#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"

namespace polystate::tokenizer {
namespace {

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  std::size_t length_;
};

}  // namespace

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

std::unique_ptr<const PreTokenizer> fixed_length(std::size_t length) {
  return std::make_unique<FixedLength>(length);
}

}  // namespace polystate::tokenizer
