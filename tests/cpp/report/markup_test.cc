#include "report/markup.h"

#include <gtest/gtest.h>

namespace polystate::report {
namespace {

TEST(Markup, WhatIsMarkupBecomesText) {
  EXPECT_EQ(escaped(R"(<a href="x" b='y'>&)"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
}

TEST(Markup, LineFeedsAndTabsStay) { EXPECT_EQ(escaped("a\n\tb"), "a\n\tb"); }

TEST(Markup, CharactersThatXmlLacksAreNamed) {
  EXPECT_EQ(escaped("\x1b[1m"), "U+001B[1m");
  EXPECT_EQ(escaped("\xEF\xBF\xBF"), "U+FFFF");
}

TEST(Markup, MarksThatTurnTextAroundAreNamed) { EXPECT_EQ(escaped("a\u202Eb"), "aU+202Eb"); }

TEST(Markup, BytesThatAreNoUtf8AreReplaced) { EXPECT_EQ(escaped("a\xFF\xC3"), "a\uFFFD\uFFFD"); }

TEST(Markup, NumbersHaveTwoDigitsAtMost) {
  EXPECT_EQ(decimal(12.5), "12.5");
  EXPECT_EQ(decimal(100), "100");
  EXPECT_EQ(decimal(-0.001), "0");
  EXPECT_EQ(decimal(1.0 / 3), "0.33");
}

TEST(Markup, ALongTextEndsInAnEllipsis) {
  EXPECT_EQ(clipped("abcde", 5), "abcde");
  EXPECT_EQ(clipped("abcdef", 5), "abcd\u2026");
  EXPECT_EQ(clipped("äöüß€", 4), "äöü\u2026");
}

TEST(Markup, NumbersAndSizesAreWrittenForPeople) {
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1234567), "1,234,567");
  EXPECT_EQ(size_text(800), "800 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
}

}  // namespace
}  // namespace polystate::report
