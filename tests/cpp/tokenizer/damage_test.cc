// Damaged files: every truncation and 2,000 changed bytes of each format give a typed error or a
// tokenizer that works.

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/sample_files.h"
#include "tokenizer/use_tokenizer.h"

namespace polystate {
namespace {

class Damage : public testing::TestWithParam<SampleFile> {};

TEST_P(Damage, AWholeFileOpens) {
  const SampleFile& file = GetParam();
  const auto tokenizer = Tokenizer::parse(file.format, file.content, file.options);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_FALSE((*tokenizer)->encode("Hello, world")->ids.empty());
}

TEST_P(Damage, EveryTruncationIsAnErrorOrATokenizer) {
  const SampleFile& file = GetParam();
  for (std::size_t size = 0; size < file.content.size(); ++size) {
    const std::string_view content = std::string_view(file.content).substr(0, size);
    ASSERT_TRUE(keeps_its_promises(Tokenizer::parse(file.format, content, file.options)))
        << size << " bytes";
  }
}

TEST_P(Damage, EveryChangedByteIsAnErrorOrATokenizer) {
  const SampleFile& file = GetParam();
  std::mt19937 draw(1);  // NOLINT(bugprone-random-generator-seed): the same bytes in every run
  for (int i = 0; i < 2000; ++i) {
    std::string content = file.content;
    const std::size_t position = draw() % content.size();
    content[position] = static_cast<char>(content[position] + 1 + draw() % 255);
    ASSERT_TRUE(keeps_its_promises(Tokenizer::parse(file.format, content, file.options)))
        << "byte " << position;
  }
}

// The file of a set of four.
using MarianFile = std::string tokenizer::MarianFiles::*;

class MarianDamage : public testing::TestWithParam<MarianFile> {};

TEST_P(MarianDamage, EveryTruncationIsAnErrorOrATokenizer) {
  const tokenizer::MarianFiles whole = sample_marian_files("SentencePieceUnigram");
  ASSERT_TRUE(open_marian(whole));
  for (std::size_t size = 0; size < (whole.*GetParam()).size(); ++size) {
    tokenizer::MarianFiles files = whole;
    (files.*GetParam()).resize(size);
    ASSERT_TRUE(keeps_its_promises(open_marian(files))) << size << " bytes";
  }
}

TEST_P(MarianDamage, EveryChangedByteIsAnErrorOrATokenizer) {
  const tokenizer::MarianFiles whole = sample_marian_files("SentencePieceBpe");
  std::mt19937 draw(1);  // NOLINT(bugprone-random-generator-seed): the same bytes in every run
  for (int i = 0; i < 2000; ++i) {
    tokenizer::MarianFiles files = whole;
    std::string& content = files.*GetParam();
    const std::size_t position = draw() % content.size();
    content[position] = static_cast<char>(content[position] + 1 + draw() % 255);
    ASSERT_TRUE(keeps_its_promises(open_marian(files))) << "byte " << position;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, MarianDamage,
                         testing::Values(&tokenizer::MarianFiles::encoder,
                                         &tokenizer::MarianFiles::decoder,
                                         &tokenizer::MarianFiles::vocabulary,
                                         &tokenizer::MarianFiles::config));

INSTANTIATE_TEST_SUITE_P(Formats, Damage, testing::ValuesIn(sample_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace polystate
