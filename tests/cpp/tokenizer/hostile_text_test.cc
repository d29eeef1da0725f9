// Hostile text: time grows with the length of a text that is one thing over and over. What it takes
// is measured by the benchmarks.

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

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kSize = std::size_t{32} << 10U;
#else
constexpr std::size_t kSize = std::size_t{256} << 10U;
#endif

std::string repeated_to(std::string_view part, std::size_t size) {
  std::string text;
  while (text.size() < size) text += part;
  return text;
}

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 2; ++run) {
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
    const double one = seconds_to_encode(**tokenizer, repeated_to(part, kSize));
    const double eight = seconds_to_encode(**tokenizer, repeated_to(part, 8 * kSize));
    // Room for a busy machine: what is quadratic takes 64 times as long.
    EXPECT_LT(one, 5.0) << "'" << part << "'";
    EXPECT_LT(eight, 24 * one + 0.1) << "'" << part << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileText, testing::ValuesIn(sample_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace polystate
