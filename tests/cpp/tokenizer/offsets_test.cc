// Where in the caller's text tokens come from.

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/sample_files.h"

namespace polystate {
namespace {

using Ranges = std::vector<TextRange>;

Ranges offsets_of(std::string_view sample, const EncodeInput& input,
                  OffsetUnit unit = OffsetUnit::kByte) {
  return open_sample(sample)
      ->encode(input, {.add_special_tokens = false, .offsets = true, .offset_unit = unit})
      .value()
      .offsets;
}

TEST(Offsets, AreEmptyUnlessTheyAreAskedFor) {
  EXPECT_TRUE(open_sample("TikToken")->encode("Hello")->offsets.empty());
}

TEST(Offsets, AreBytesOfTheCallersText) {
  EXPECT_EQ(offsets_of("TikToken", "Hello wll"), (Ranges{{0, 5}, {5, 7}, {7, 9}}));
}

TEST(Offsets, CountTheTextAsItWasBeforeItWasNormalized) {
  // The accent goes and the letters become lower case: "he", "##llo".
  EXPECT_EQ(offsets_of("WordPiece", " H\xC3\xA9LLO,"), (Ranges{{1, 4}, {4, 7}, {7, 8}}));
}

TEST(Offsets, PartsOfOneCharacterHaveTheSame) {
  EXPECT_EQ(offsets_of("TikToken", "l\xC3\xA9"), (Ranges{{0, 1}, {1, 3}, {1, 3}}));
}

TEST(Offsets, OfMalformedTextCountTheCallersBytes) {
  // A cut character of two bytes becomes one U+FFFD, which is three byte tokens.
  EXPECT_EQ(offsets_of("TikToken", "l\xE2\x96l"), (Ranges{{0, 1}, {1, 3}, {1, 3}, {1, 3}, {3, 4}}));
}

TEST(Offsets, OfAPairCountEachTextAlone) {
  EXPECT_EQ(offsets_of("TikToken", {"Hello", "ll"}), (Ranges{{0, 5}, {0, 2}}));
}

TEST(Offsets, CanCountCodePoints) {
  EXPECT_EQ(offsets_of("TikToken", "\xC3\xA9l\xE2\x96l", OffsetUnit::kCodePoint),
            (Ranges{{0, 1}, {0, 1}, {1, 2}, {2, 3}, {2, 3}, {2, 3}, {3, 4}}));
}

TEST(Offsets, OfAddedTokensAreNone) {
  const Encoding encoding = open_sample("WordPiece")->encode("he", {.offsets = true}).value();
  EXPECT_EQ(encoding.offsets, (Ranges{{0, 0}, {0, 2}, {0, 0}}));
}

}  // namespace
}  // namespace polystate
