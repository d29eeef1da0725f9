#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/graphemes.h"

namespace polystate::tokenizer {
namespace {

class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(Charsmap map) : map_(std::move(map)) {}
  Status normalize(AlignedText& text) const override;

 private:
  class Rewrite;
  Charsmap map_;
};

}  // namespace

// Collects the characters of the changed text.
class PrecompiledNormalizer::Rewrite {
 public:
  explicit Rewrite(const Charsmap& map) : map_(map) {}

  void put_grapheme(std::string_view grapheme) {
    if (grapheme.size() < 6 && replace(grapheme)) return;
    for (std::size_t i = 0; i < grapheme.size();) {
      const Utf8Character character = character_at(grapheme, i);
      if (!replace(grapheme.substr(i, character.size))) put_ascii(character.code_point);
      i += character.size;
    }
  }
  void put_ascii(char32_t code_point) { characters_.push_back({code_point, 1}); }

  // Bytes of the replacements so far.
  [[nodiscard]] std::size_t growth() const { return growth_; }
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::vector<ChangedCharacter>& characters() const { return characters_; }

 private:
  bool replace(std::string_view part) {
    const auto match = map_.shortest(part);
    if (!match) return false;
    changed_ = true;
    growth_ += match->replacement.size();
    const auto old_count = static_cast<int>(count_characters(part));
    int count = 0;
    for (std::size_t i = 0; i < match->replacement.size();) {
      const Utf8Character character = character_at(match->replacement, i);
      characters_.push_back({character.code_point, count < old_count ? 1 : 0});
      ++count;
      i += character.size;
    }
    if (count < old_count && !characters_.empty()) characters_.back().taken += old_count - count;
    return true;
  }

  const Charsmap& map_;
  std::vector<ChangedCharacter> characters_;
  std::size_t growth_ = 0;
  bool changed_ = false;
};

Status PrecompiledNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  Rewrite rewrite(map_);
  Graphemes graphemes(source);
  for (std::size_t i = 0; i < source.size();) {
    const auto byte = static_cast<unsigned char>(source[i]);
    const bool alone = byte < 0x80 && byte != '\r' &&
                       (i + 1 == source.size() || static_cast<unsigned char>(source[i + 1]) < 0x80);
    if (alone && map_.keeps_ascii(source[i])) {
      rewrite.put_ascii(byte);
      ++i;
      continue;
    }
    const std::size_t end = graphemes.end(i);
    rewrite.put_grapheme(source.substr(i, end - i));
    if (rewrite.growth() > kMaxNormalizedBytes) return grew_too_much(rewrite.growth());
    i = end;
  }
  if (!rewrite.changed()) return {};
  rewrite_text(text, [&](TextEdit& edit) {
    put_changed(source, {0, static_cast<std::uint32_t>(source.size())}, rewrite.characters(), edit);
  });
  return {};
}

std::unique_ptr<const Normalizer> precompiled_normalizer(Charsmap map) {
  return std::make_unique<PrecompiledNormalizer>(std::move(map));
}

}  // namespace polystate::tokenizer
