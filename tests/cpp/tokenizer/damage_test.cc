// Damaged files: truncations and changed bytes of each format give a typed error or a tokenizer
// that works. One of seven truncations is tried, and 286 bytes; in `make test-all` every
// truncation, and 2,000.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "support/sampling.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/sample_files.h"
#include "tokenizer/use_tokenizer.h"

namespace polystate {
namespace {

const std::size_t kStep = one_of(7);

class Damage : public testing::TestWithParam<SampleFile> {};

TEST_P(Damage, AWholeFileOpens) {
  const SampleFile& file = GetParam();
  const auto tokenizer = Tokenizer::parse(file.format, file.content, file.options);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_FALSE((*tokenizer)->encode("Hello, world")->ids.empty());
}

TEST_P(Damage, ATruncationIsAnErrorOrATokenizer) {
  const SampleFile& file = GetParam();
  for (std::size_t size = 0; size < file.content.size(); size += kStep) {
    const std::string_view content = std::string_view(file.content).substr(0, size);
    ASSERT_TRUE(keeps_its_promises(Tokenizer::parse(file.format, content, file.options)))
        << size << " bytes";
  }
}

TEST_P(Damage, AChangedByteIsAnErrorOrATokenizer) {
  const SampleFile& file = GetParam();
  std::mt19937 draw(1);  // NOLINT(bugprone-random-generator-seed): the same bytes in every run
  for (std::size_t i = 0; i < 2000; i += kStep) {
    std::string content = file.content;
    const std::size_t position = draw() % content.size();
    content[position] = static_cast<char>(content[position] + 1 + draw() % 255);
    ASSERT_TRUE(keeps_its_promises(Tokenizer::parse(file.format, content, file.options)))
        << "byte " << position;
  }
}

// One file of a tokenizer that is made of several.
struct Part {
  std::string name;
  std::string content;
  // The tokenizer with other content in its place.
  std::function<Result<std::shared_ptr<const Tokenizer>>(const std::string&)> open;
};

std::ostream& operator<<(std::ostream& out, const Part& part) { return out << part.name; }

template <typename Files>
Part part(std::string name, const Files& whole, std::string Files::* file) {
  return {std::move(name), whole.*file, [whole, file](const std::string& content) {
            Files files = whole;
            files.*file = content;
            return open_files(files);
          }};
}

std::vector<Part> parts() {
  using tokenizer::M2M100Files;
  using tokenizer::MarianFiles;
  const MarianFiles marian = sample_marian_files("SentencePieceUnigram");
  const M2M100Files m2m100 = sample_m2m100_files();
  return {part("MarianEncoder", marian, &MarianFiles::encoder),
          part("MarianDecoder", sample_marian_files("SentencePieceBpe"), &MarianFiles::decoder),
          part("MarianVocabulary", marian, &MarianFiles::vocabulary),
          part("MarianConfig", marian, &MarianFiles::config),
          part("M2M100Model", m2m100, &M2M100Files::model),
          part("M2M100Vocabulary", m2m100, &M2M100Files::vocabulary),
          part("M2M100Config", m2m100, &M2M100Files::config),
          part("M2M100SpecialTokens", m2m100, &M2M100Files::special_tokens)};
}

class PartDamage : public testing::TestWithParam<Part> {};

TEST_P(PartDamage, ATruncationIsAnErrorOrATokenizer) {
  const Part& whole = GetParam();
  ASSERT_TRUE(whole.open(whole.content));
  for (std::size_t size = 0; size < whole.content.size(); size += kStep)
    ASSERT_TRUE(keeps_its_promises(whole.open(whole.content.substr(0, size)))) << size << " bytes";
}

TEST_P(PartDamage, AChangedByteIsAnErrorOrATokenizer) {
  const Part& whole = GetParam();
  std::mt19937 draw(1);  // NOLINT(bugprone-random-generator-seed): the same bytes in every run
  for (std::size_t i = 0; i < 2000; i += kStep) {
    std::string content = whole.content;
    const std::size_t position = draw() % content.size();
    content[position] = static_cast<char>(content[position] + 1 + draw() % 255);
    ASSERT_TRUE(keeps_its_promises(whole.open(content))) << "byte " << position;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, PartDamage, testing::ValuesIn(parts()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Formats, Damage, testing::ValuesIn(sample_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace polystate
