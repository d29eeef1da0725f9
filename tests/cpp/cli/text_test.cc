#include "cli/text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdint>
#include <limits>
#include <string>

namespace polystate::cli {
namespace {

TEST(Text, IsBlankWhereNothingIsSeen) {
  for (const char* line : {"", " \t", "\r", "\u00A0", "\u3000", "\u200B", " \uFEFF\u2003"})
    EXPECT_TRUE(is_blank(line)) << printable(line);
  for (const char* line : {".", " a", "\u00A0x", "\u200D", "\xC2", "\xA0"})
    EXPECT_FALSE(is_blank(line)) << printable(line);
}

TEST(Text, PrintableKeepsTextInAnyScript) {
  EXPECT_EQ(printable("größe 长度 😀"), "größe 长度 😀");
}

TEST(Text, PrintableEscapesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
}

TEST(Text, PrintableEscapesMarksThatReverseTheDirection) {
  EXPECT_EQ(printable("a\u202Eb"), "a\\xe2\\x80\\xaeb");
}

TEST(Text, PrintableEscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("\xFF"), "\\xff");
  EXPECT_EQ(printable("\xC3"), "\\xc3");                             // cut off
  EXPECT_EQ(printable("\xC0\x80"), "\\xc0\\x80");                    // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past the last code point
}

TEST(Text, AnOptionsValueThatIsNoUtf8IsShownAsItMayBe) {
  EXPECT_EQ(utf8_fault("größe"), "");
  EXPECT_EQ(utf8_fault(""), "");
  EXPECT_EQ(utf8_fault("a\xFF"), "'a\\xff' is no UTF-8");
}

TEST(Text, WideCharactersTakeTwoColumnsAndCombiningMarksNone) {
  ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("长度"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
}

TEST(Text, BytesAreShownInTheUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text((1U << 20U) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "16777216.0 TiB");
}

}  // namespace
}  // namespace polystate::cli
