#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"

namespace polystate::tokenizer {
namespace {

class MarkerSplit : public PreTokenizer {
 public:
  MarkerSplit(std::string marker, bool after) : marker_(std::move(marker)), after_(after) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  std::string marker_;
  bool after_;
};

}  // namespace

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

std::unique_ptr<const PreTokenizer> marker_split(std::string marker, bool after) {
  return std::make_unique<MarkerSplit>(std::move(marker), after);
}

}  // namespace polystate::tokenizer
