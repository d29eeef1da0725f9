#include "core/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {
namespace {

struct Range {
  unsigned first;
  unsigned last;
};

// A row of table 3-7 of the Unicode Standard: which bytes stand one after another.
struct Row {
  std::size_t size;
  std::array<Range, 4> bytes;
};

constexpr Range kTail = {0x80, 0xBF};
constexpr std::array<Row, 9> kTable = {{
    {1, {{{0x00, 0x7F}}}},
    {2, {{{0xC2, 0xDF}, kTail}}},
    {3, {{{0xE0, 0xE0}, {0xA0, 0xBF}, kTail}}},
    {3, {{{0xE1, 0xEC}, kTail, kTail}}},
    {3, {{{0xED, 0xED}, {0x80, 0x9F}, kTail}}},
    {3, {{{0xEE, 0xEF}, kTail, kTail}}},
    {4, {{{0xF0, 0xF0}, {0x90, 0xBF}, kTail, kTail}}},
    {4, {{{0xF1, 0xF3}, kTail, kTail, kTail}}},
    {4, {{{0xF4, 0xF4}, {0x80, 0x8F}, kTail, kTail}}},
}};

// How many bytes the character takes that `text` begins with, as the table says.
std::size_t size_by_table(std::string_view text) {
  for (const Row& row : kTable) {
    bool fits = text.size() >= row.size;
    for (std::size_t i = 0; fits && i < row.size; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      fits = byte >= row.bytes.at(i).first && byte <= row.bytes.at(i).last;
    }
    if (fits) return row.size;
  }
  return 0;
}

std::string encoded(char32_t c) {
  const auto tail = [c](unsigned shift) {
    return static_cast<char>(0x80U | ((c >> shift) & 0x3FU));
  };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0U | (c >> 6U)), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0U | (c >> 12U)), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | (c >> 18U)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointIsReadBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const std::string text = encoded(c) + "x";
    const Utf8Character character = first_character(text);
    ASSERT_EQ(character.code_point, c);
    ASSERT_EQ(character.size, text.size() - 1) << static_cast<unsigned>(c);
  }
}

// A tail byte counts only as being below, in or above the ranges of the table: these are their
// bounds, and what lies just outside.
constexpr std::array<unsigned, 12> kBounds = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F,
                                              0xA0, 0xBF, 0xC0, 0xED, 0xF4, 0xFF};

TEST(Utf8, ExactlyTheFormsOfTheStandardsTableAreValid) {
  std::size_t valid = 0;
  for (unsigned lead = 0; lead <= 0xFF; ++lead) {
    for (const unsigned second : kBounds) {
      for (const unsigned third : kBounds) {
        for (const unsigned fourth : kBounds) {
          const std::string text = {static_cast<char>(lead), static_cast<char>(second),
                                    static_cast<char>(third), static_cast<char>(fourth)};
          for (std::size_t size = 1; size <= text.size(); ++size) {
            const std::string_view part = std::string_view(text).substr(0, size);
            ASSERT_EQ(first_character(part).size, size_by_table(part))
                << lead << " " << second << " " << third << " " << fourth << ", " << size;
          }
          valid += size_by_table(text) > 0 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(valid, 0U);
}

TEST(Utf8, OneBadByteAnywhereMakesATextInvalid) {
  const std::string text = "größe 长度 😀";
  ASSERT_TRUE(is_utf8(text));
  EXPECT_TRUE(is_utf8(""));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = '\xFF';
    EXPECT_FALSE(is_utf8(damaged)) << i;
  }
  EXPECT_FALSE(is_utf8(text.substr(0, text.size() - 1)));
}

TEST(Utf8, WhatIsMalformedIsRepairedPartByPart) {
  EXPECT_EQ(repaired_utf8(""), "");
  EXPECT_EQ(repaired_utf8("größe"), "größe");
  EXPECT_EQ(repaired_utf8("a\xFF\xE2\x82z\xC3"), "a\uFFFD\uFFFDz\uFFFD");
}

TEST(Utf8, ControlsAreThoseOfAsciiAndOfLatin1) {
  EXPECT_EQ(std::ranges::count_if(std::u32string{0, 0x1F, 0x7F, 0x80, 0x9F}, is_control), 5);
  EXPECT_EQ(std::ranges::count_if(std::u32string{0x20, 0x7E, 0xA0, 0x2028}, is_control), 0);
}

TEST(Utf8, ControlsAndMarksOfDirectionAreUnsafeToShow) {
  const std::u32string unsafe = {0x1B, 0x9B, 0x061C, 0x200E, 0x2028, 0x202E, 0x2066, 0x2069};
  EXPECT_TRUE(std::ranges::all_of(unsafe, is_unsafe_to_show));
  const std::u32string safe = {'a', 0xA0, 0x200D, 0x2014, 0x202F, 0x206A, 0x1F600};
  EXPECT_TRUE(std::ranges::none_of(safe, is_unsafe_to_show));
}

TEST(Utf8, Utf8IsCheckedToTheLetter) {
  for (const std::string_view text : {"", "a", "é", "€", "😀", "\U0010FFFF"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const std::string_view bytes :
       {"\x80", "\xc1\x81", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xff"}) {
    EXPECT_FALSE(is_utf8(bytes));
  }
}

}  // namespace
}  // namespace polystate
