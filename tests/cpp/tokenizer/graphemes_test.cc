#include "tokenizer/unicode/graphemes.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"

namespace polystate::tokenizer {
namespace {

// How many characters each cluster of a text has.
std::vector<std::size_t> clusters(std::u32string_view characters) {
  std::string text;
  for (const char32_t character : characters) append_character(character, text);
  Graphemes graphemes(text);
  std::vector<std::size_t> sizes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = graphemes.end(begin);
    sizes.push_back(count_characters(std::string_view(text).substr(begin, end - begin)));
    begin = end;
  }
  return sizes;
}

using Sizes = std::vector<std::size_t>;

TEST(Graphemes, NothingJoinsControlsButTheEndOfALine) {
  EXPECT_EQ(clusters(U"a\r\n\n\r"), (Sizes{1, 2, 1, 1}));
  EXPECT_EQ(clusters(U"\n\u0301\u0302"), (Sizes{1, 2}));
  EXPECT_EQ(clusters(U"\u0600\n"), (Sizes{1, 1}));
}

TEST(Graphemes, MarksAndJoinersFollowAndPrefixesComeFirst) {
  EXPECT_EQ(clusters(U"a\u0301\u0903\u200Db"), (Sizes{4, 1}));
  EXPECT_EQ(clusters(U"\u0600ab"), (Sizes{2, 1}));
}

TEST(Graphemes, MarksOfUnicode17AreKnown) {
  EXPECT_EQ(clusters(U"a\u0897\U00010D69\u1ACFb"), (Sizes{4, 1}));
}

TEST(Graphemes, LettersOfHangulMakeSyllables) {
  EXPECT_EQ(clusters(U"\u1100\u1100\u1161\u11A8\u11A8"), Sizes{5});
  EXPECT_EQ(clusters(U"\u1100\uAC00\u1161\u11A8"), Sizes{4});
  EXPECT_EQ(clusters(U"\uAC01\u11A8\u1161\uAC00"), (Sizes{2, 1, 1}));
}

TEST(Graphemes, ALinkerJoinsTwoConsonants) {
  EXPECT_EQ(clusters(U"\u0915\u094D\u0937\u200D\u094D\u0915"), Sizes{6});
  EXPECT_EQ(clusters(U"\u0915\u0937"), (Sizes{1, 1}));
  EXPECT_EQ(clusters(U"\u0915\u094D\u200C\u0937"), (Sizes{3, 1}));
  EXPECT_EQ(clusters(U"a\u094D\u0937"), (Sizes{2, 1}));
}

TEST(Graphemes, AJoinerJoinsTwoPictographs) {
  EXPECT_EQ(clusters(U"\U0001F469\U0001F3FB\u200D\U0001F680"), Sizes{4});
  EXPECT_EQ(clusters(U"\u2600\u200D\u200D\u2600"), (Sizes{3, 1}));
  EXPECT_EQ(clusters(U"a\u200D\u2600"), (Sizes{2, 1}));
  EXPECT_EQ(clusters(U"\u2600\u2600"), (Sizes{1, 1}));
}

// They have four bytes each, so that no tokenizer shows it.
TEST(Graphemes, TwoRegionalIndicatorsMakeAFlag) {
  EXPECT_EQ(clusters(U"\U0001F1EB\U0001F1F7\U0001F1E9\U0001F1EA\U0001F1EB"), (Sizes{2, 2, 1}));
  EXPECT_EQ(clusters(U"\U0001F1EB\u0301\U0001F1F7"), (Sizes{2, 1}));
}

}  // namespace
}  // namespace polystate::tokenizer
