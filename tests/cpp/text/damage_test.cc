// Damaged files: every truncation and 2,000 changed bytes of each format give a typed error or a
// tokenizer that works.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/text/encoding.h"
#include "polystate/text/tokenizer.h"
#include "text/sample_files.h"

namespace polystate {
namespace {

constexpr std::string_view kText = "Hello, w\xC3\xB6rld </s> 12  \xE2\x96\x81 \xF0\x9F\x98\x80 \xFF";

// Encodes and decodes; errors may come, but no more than that.
void use(const Tokenizer& tokenizer) {
  EncodeOptions options;
  options.offsets = true;
  const Result<Encoding> encoding = tokenizer.encode(kText, options);
  if (!encoding) {
    EXPECT_NE(encoding.error().code, ErrorCode::kEngine);
    return;
  }
  for (const ByteRange& range : encoding->offsets) {
    EXPECT_LE(range.begin, range.end);
    EXPECT_LE(range.end, kText.size());
  }
  const Result<std::string> text = tokenizer.decode(encoding->ids);
  if (!text) EXPECT_EQ(text.error().code, ErrorCode::kContract);
}

void open_and_use(const SampleFile& file, std::string_view content) {
  const Result<Tokenizer> tokenizer = Tokenizer::parse(file.format, content, file.options);
  if (tokenizer) {
    use(*tokenizer);
  } else {
    EXPECT_NE(tokenizer.error().code, ErrorCode::kEngine) << tokenizer.error().message;
    EXPECT_FALSE(tokenizer.error().message.empty());
  }
}

class Damage : public testing::TestWithParam<SampleFile> {};

TEST_P(Damage, AWholeFileOpens) {
  const SampleFile& file = GetParam();
  const Result<Tokenizer> tokenizer = Tokenizer::parse(file.format, file.content, file.options);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_TRUE(tokenizer->encode(kText));
}

TEST_P(Damage, EveryTruncationIsAnErrorOrATokenizer) {
  const SampleFile& file = GetParam();
  for (std::size_t size = 0; size < file.content.size(); ++size)
    open_and_use(file, std::string_view(file.content).substr(0, size));
}

TEST_P(Damage, EveryChangedByteIsAnErrorOrATokenizer) {
  const SampleFile& file = GetParam();
  std::mt19937 draw(1);
  for (int i = 0; i < 2000; ++i) {
    std::string content = file.content;
    content[draw() % content.size()] ^= static_cast<char>(1 + draw() % 255);
    open_and_use(file, content);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Damage, testing::ValuesIn(sample_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace polystate
