#include "tokenizer/normalizers/simple.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/unicode/byte_alphabet.h"
#include "tokenizer/unicode/normal_form.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

// Replaces every character by what `map` makes of it; nothing removes it. Where nothing changes,
// the text is not copied.
template <typename Map>
void map_characters(AlignedText& text, Map&& map) {
  const std::string_view source = text.text;
  std::size_t position = 0;
  while (position < source.size()) {
    const Utf8Character character = character_at(source, position);
    if (map(character.code_point) != character.code_point) break;
    position += character.size;
  }
  if (position == source.size()) return;
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    while (position < source.size()) {
      const Utf8Character character = character_at(source, position);
      const std::optional<char32_t> mapped = map(character.code_point);
      if (mapped != character.code_point) {
        edit.keep(kept, position);
        if (mapped) edit.put(*mapped, position);
        kept = position + character.size;
      }
      position += character.size;
    }
    edit.keep(kept, source.size());
  });
}

template <typename Remove>
void remove_characters(AlignedText& text, Remove&& remove) {
  map_characters(text, [&](char32_t code_point) {
    return remove(code_point) ? std::nullopt : std::optional(code_point);
  });
}

void lowercase(AlignedText& text) {
  const std::size_t ascii = ascii_prefix(text.text);
  for (std::size_t i = 0; i < ascii; ++i) {
    char& c = text.text[i];
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  if (ascii == text.text.size()) return;
  const std::string_view source = text.text;
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    for (std::size_t i = ascii; i < source.size();) {
      const Utf8Character character = character_at(source, i);
      const LowerCase lower = lower_case(character.code_point);
      if (lower.count > 1 || lower.code_points[0] != character.code_point) {
        edit.keep(kept, i);
        for (std::size_t part = 0; part < lower.count; ++part) edit.put(lower.code_points[part], i);
        kept = i + character.size;
      }
      i += character.size;
    }
    edit.keep(kept, source.size());
  });
}

// The blocks of CJK ideographs, as BERT's tokenization.py lists them.
bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::optional<char32_t> cleaned(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return ' ';
  if (c == 0 || c == 0xFFFD || is_control_format_or_private(c)) return std::nullopt;
  return is_white_space(c) ? ' ' : c;
}

void space_ideographs(AlignedText& text) {
  const std::string_view source = text.text;
  std::size_t position = ascii_prefix(source);
  while (position < source.size()) {
    const Utf8Character character = character_at(source, position);
    if (is_cjk_ideograph(character.code_point)) break;
    position += character.size;
  }
  if (position == source.size()) return;
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    while (position < source.size()) {
      const Utf8Character character = character_at(source, position);
      if (is_cjk_ideograph(character.code_point)) {
        edit.keep(kept, position);
        edit.put(" ", position);
        edit.keep(position, position + character.size);
        edit.put(" ", position);
        kept = position + character.size;
      }
      position += character.size;
    }
    edit.keep(kept, source.size());
  });
}

// What SentencePiece's normalization rule "nmt" does beyond NFKC.
std::optional<char32_t> nmt_mapped(char32_t c) {
  if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
      c == 0x9F) {
    return std::nullopt;
  }
  const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  return space ? ' ' : c;
}

}  // namespace

Status LowercaseNormalizer::normalize(AlignedText& text) const {
  lowercase(text);
  return {};
}

Status StripNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  std::size_t begin = 0;
  std::size_t end = source.size();
  while (left_ && begin < end && is_white_space(character_at(source, begin).code_point))
    begin += character_size(source[begin]);
  while (right_ && end > begin) {
    const std::size_t last = previous_character(source, end);
    if (!is_white_space(character_at(source, last).code_point)) break;
    end = last;
  }
  if (begin == 0 && end == source.size()) return {};
  rewrite_text(text, [&](TextEdit& edit) { edit.keep(begin, end); });
  return {};
}

Status StripAccentsNormalizer::normalize(AlignedText& text) const {
  remove_characters(text, [](char32_t c) { return c >= 0x300 && is_mark(c); });
  return {};
}

Status NmtNormalizer::normalize(AlignedText& text) const {
  map_characters(text, nmt_mapped);
  return {};
}

Status PrependNormalizer::normalize(AlignedText& text) const {
  if (text.text.empty()) return {};
  const std::size_t size = text.text.size();
  rewrite_text(text, [&](TextEdit& edit) {
    edit.put(prefix_, 0);
    edit.keep(0, size);
  });
  return {};
}

Status ReplaceNormalizer::normalize(AlignedText& text) const {
  std::vector<ByteRange> matches;
  const std::string_view source = text.text;
  if (const Status found = pattern_.find(source, matches); !found) return found;
  if (matches.empty()) return {};
  if (matches.size() * content_.size() > kMaxNormalizedBytes) {
    return Error{ErrorCode::kContract, "a text would grow by " +
                                           std::to_string(matches.size() * content_.size()) +
                                           " bytes while it is normalized; the limit is " +
                                           std::to_string(kMaxNormalizedBytes)};
  }
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    for (const ByteRange& match : matches) {
      edit.keep(kept, match.begin);
      if (match.end > 0) {
        edit.put(content_, match.end - 1);
      } else {
        edit.put_unaligned(content_, text.origin);
      }
      kept = match.end;
    }
    edit.keep(kept, source.size());
  });
  return {};
}

Status ByteLevelNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  rewrite_text(text, [&](TextEdit& edit) {
    for (std::size_t i = 0; i < source.size(); ++i)
      edit.put(alphabet_character(static_cast<unsigned char>(source[i])).view(), i);
  });
  return {};
}

Status BertNormalizer::normalize(AlignedText& text) const {
  if (options_.clean_text) map_characters(text, cleaned);
  if (options_.handle_chinese_chars) space_ideographs(text);
  if (options_.strip_accents) {
    apply_unicode_form(UnicodeForm::kNfd, text);
    remove_characters(text, is_nonspacing_mark);
  }
  if (options_.lowercase) lowercase(text);
  return {};
}

}  // namespace polystate::tokenizer
