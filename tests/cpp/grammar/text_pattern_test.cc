#include "grammar/text_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string in_json(std::string_view pattern) {
  const auto written = written_pattern(pattern, TextForm::kJson);
  return written ? *written : written.error().message;
}

TEST(TextPattern, EscapesWhatJsonEscapes) {
  EXPECT_EQ(in_json(R"(^ab$)"), R"((?:ab))");
  EXPECT_EQ(in_json(R"(^a"b$)"), R"((?:a\\"b))");
  EXPECT_EQ(in_json(R"(^C:\\[a-z]+$)"), R"((?:C:\\\\[a-z]+))");
  EXPECT_EQ(in_json(R"(^\n\x01$)"), R"((?:\\n\\u0001))");
  EXPECT_EQ(in_json(R"(^\n+$)"), R"((?:(?:\\n)+))");
  EXPECT_EQ(in_json(R"(^[\t ]$)"), R"((?:(?: |\\t)))");
  EXPECT_EQ(in_json(R"(^é\/\.$)"), R"((?:é\/\.))");
  EXPECT_THAT(in_json(R"(^[^a]$)"), StartsWith(R"((?:(?:[^\u0000-\u001f"\\a]|\\(?:)"));
}

TEST(TextPattern, WritesPlainTextsAsTheyAre) {
  EXPECT_EQ(*written_pattern(R"(^"[\\^]$)", TextForm::kPlain), R"((?:"[\\\^]))");
  EXPECT_EQ(*written_pattern(R"(^.$)", TextForm::kPlain), R"((?:[^\u000a]))");
  EXPECT_EQ(*written_pattern(R"(^["a]$)", TextForm::kEither), "(?:a)");
  EXPECT_FALSE(written_pattern(R"(^"$)", TextForm::kEither));
}

TEST(TextPattern, SearchesWhereNothingBindsToTheEnds) {
  EXPECT_THAT(in_json("^a"), StartsWith(R"((?:a)(?:[^\u0000-\u001f"\\]|)"));
  EXPECT_THAT(in_json("a$"), EndsWith(")*(?:a)"));
  EXPECT_EQ(in_json("^$|^x$"), "(?:x)?");
  EXPECT_EQ(in_json("(^a$)|(^b$)"), in_json("^a$|^b$"));
  EXPECT_EQ(in_json("^$"), "");
}

TEST(TextPattern, RefusesWhatItDoesNotKnow) {
  for (const char* const pattern :
       {"(?=a)", "(?!a)", "(?<=a)", "(?i)a", R"((a)\1)", R"(\bfoo)", R"(\p{L})", "a^b", "a$b",
        "(a^)b", "[]a]", "a{,3}", "a**", R"(\ud800)", R"(\k<a>)"}) {
    const auto written = written_pattern(pattern, TextForm::kJson);
    ASSERT_FALSE(written) << pattern;
    EXPECT_EQ(written.error().code, ErrorCode::kUnsupported) << pattern;
    EXPECT_THAT(written.error().message, HasSubstr("not enforced")) << pattern;
  }
  for (const char* const pattern : {"(a", "a)", "[a", "*a", "[b-a]", R"(\x4)", "\\", "a{2"}) {
    const auto written = written_pattern(pattern, TextForm::kJson);
    ASSERT_FALSE(written) << pattern;
    EXPECT_EQ(written.error().code, ErrorCode::kContract) << pattern;
  }
  EXPECT_THAT(in_json(std::string(5000, 'a')), HasSubstr("5000 bytes, and may have 4096"));
  EXPECT_THAT(in_json(std::string(300, '(')), HasSubstr("deeper than 200"));
}

}  // namespace
}  // namespace polystate::grammar
