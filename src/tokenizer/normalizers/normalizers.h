#pragma once

#include <memory>
#include <string>

#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/regex/pattern.h"
#include "tokenizer/unicode/normal_form.h"

// The normalizers of a tokenizer.json, as the `tokenizers` library names them. Their classes are
// hidden in the other files. SentencePiece's own is in sentence_piece.h.
namespace polystate::tokenizer {

struct BertOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

// What BERT does: removes control characters, puts spaces around CJK ideographs, removes accents,
// and lowercases.
std::unique_ptr<const Normalizer> bert_normalizer(BertOptions options);

// Writes every byte as its character of the byte alphabet.
std::unique_ptr<const Normalizer> byte_level_normalizer();

// Turns characters into their lower case.
std::unique_ptr<const Normalizer> lowercase_normalizer();
// What it does, for others that do it too.
void lowercase(AlignedText& text);

// Removes control characters and turns some kinds of space into a space, as SentencePiece's "nmt"
// rules do.
std::unique_ptr<const Normalizer> nmt_normalizer();

// A charsmap applied as the `tokenizers` library does it: to each grapheme cluster of less than six
// bytes that starts with one of its strings, the shortest; else to each character. SentencePiece
// itself takes the longest string at each place: see SentencePieceNormalizer.
std::unique_ptr<const Normalizer> precompiled_normalizer(Charsmap map);

// Puts a string before a text that is not empty.
std::unique_ptr<const Normalizer> prepend_normalizer(std::string prefix);

// Replaces every match.
std::unique_ptr<const Normalizer> replace_normalizer(Pattern pattern, std::string content);

// Removes white space from the ends.
std::unique_ptr<const Normalizer> strip_normalizer(bool left, bool right);

// Removes marks.
std::unique_ptr<const Normalizer> strip_accents_normalizer();

// Brings a text to one of Unicode's normal forms.
std::unique_ptr<const Normalizer> unicode_form_normalizer(UnicodeForm form);

}  // namespace polystate::tokenizer
