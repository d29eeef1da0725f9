#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

// A normalized text may have this many bytes.
inline constexpr std::size_t kMaxNormalizedBytes = std::size_t{1} << 29U;

// That a text grew to so many bytes, over kMaxNormalizedBytes.
Error grew_too_much(std::size_t bytes);

// Changes a text before it is split. Immutable, and shared by threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // kContract when the text would grow over kMaxNormalizedBytes, or is too much for a regular
  // expression; `text` is then of no use.
  virtual Status normalize(AlignedText& text) const = 0;
};

// One after the other.
class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> normalizers);
  Status normalize(AlignedText& text) const override;

 private:
  std::vector<std::unique_ptr<const Normalizer>> normalizers_;
};

}  // namespace polystate::tokenizer
