#pragma once

#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/regex/pattern.h"
#include "tokenizer/unicode/normal_form.h"

// The normalizers of the `tokenizers` library that are named like these.
namespace polystate::tokenizer {

class UnicodeFormNormalizer : public Normalizer {
 public:
  explicit UnicodeFormNormalizer(UnicodeForm form) : form_(form) {}
  Status normalize(AlignedText& text) const override {
    apply_unicode_form(form_, text);
    return {};
  }

 private:
  UnicodeForm form_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

// Removes white space from the ends.
class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  Status normalize(AlignedText& text) const override;

 private:
  bool left_;
  bool right_;
};

// Removes marks.
class StripAccentsNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

// Removes control characters and turns some kinds of space into a space, as SentencePiece's "nmt"
// rules do.
class NmtNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

// Puts a string before a text that is not empty.
class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  Status normalize(AlignedText& text) const override;

 private:
  std::string prefix_;
};

// Replaces every match.
class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status normalize(AlignedText& text) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

// Writes every byte as its character of the byte alphabet.
class ByteLevelNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

struct BertOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

// What BERT does: removes control characters, puts spaces around CJK ideographs, removes accents,
// and lowercases.
class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  Status normalize(AlignedText& text) const override;

 private:
  BertOptions options_;
};

}  // namespace polystate::tokenizer
