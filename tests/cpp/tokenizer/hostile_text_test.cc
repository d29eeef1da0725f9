// Hostile text: a megabyte of one thing takes less than a second, and twice as much about twice as
// long.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/sample_files.h"

namespace polystate {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

std::string repeated(std::string_view part, std::size_t size) {
  std::string text;
  while (text.size() < size) text += part;
  return text;
}

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(tokenizer.encode(text));
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

class HostileText : public testing::TestWithParam<SampleFile> {};

TEST_P(HostileText, TakesTimeThatGrowsWithItsLength) {
  const SampleFile& file = GetParam();
  const auto tokenizer = Tokenizer::parse(file.format, file.content, file.options);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (const std::string_view part :
       {"l", " ", "\xC3\xA9", "\xFF", "\xE2\x96\x81", "\xCC\x81", "</s>", "\r\n", "a ", "1"}) {
    const double one = seconds_to_encode(**tokenizer, repeated(part, kMegabyte));
    const double two = seconds_to_encode(**tokenizer, repeated(part, 2 * kMegabyte));
    // Room for sanitizers and a busy machine: what is quadratic would take minutes.
    EXPECT_LT(one, 20.0) << "'" << part << "'";
    EXPECT_LT(two, 5 * one + 0.5) << "'" << part << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileText, testing::ValuesIn(sample_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace polystate
