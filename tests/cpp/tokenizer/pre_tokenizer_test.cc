// What a sequence of pre-tokenizers gives.

#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"

namespace polystate::tokenizer {
namespace {

// Makes a piece a quarter of the limit.
class Grow : public PreTokenizer {
 public:
  explicit Grow(int& calls) : calls_(calls) {}
  Status pre_tokenize(PreTokenizedText& text) const override {
    ++calls_;
    const std::string more(kMaxNormalizedBytes / 4, 'x');
    text.rewrite([&](const Piece& piece, TextEdit& edit) { edit.put(more, piece.begin); });
    return {};
  }

 private:
  int& calls_;
};

Result<int> calls_for(const std::string& source, const std::vector<Piece>& pieces) {
  int calls = 0;
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  parts.reserve(3);
  for (int i = 0; i < 3; ++i) parts.push_back(std::make_unique<Grow>(calls));
  const PreTokenizerSequence sequence(std::move(parts));
  PreTokenizedText text;
  text.start(source, {}, false);
  for (const Piece& piece : pieces) text.add(piece);
  const Status done = sequence.pre_tokenize(text);
  if (!done) {
    EXPECT_EQ(calls, 1);
    return done.error();
  }
  return calls;
}

TEST(PreTokenizerSequence, AppliesAllOfItsParts) {
  EXPECT_EQ(calls_for("a", {{0, 1, {}}}).value(), 3);
}

TEST(PreTokenizerSequence, StopsWhenATextGrowsOverTheLimit) {
  const std::vector<Piece> pieces = {{0, 1, {}}, {1, 2, {}}, {2, 3, {}}, {3, 4, {}}, {4, 5, {}}};
  EXPECT_EQ(calls_for("abcde", pieces).error().code, ErrorCode::kContract);
}

}  // namespace
}  // namespace polystate::tokenizer
