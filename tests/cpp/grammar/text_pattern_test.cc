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

TextPattern whole(std::string_view expression) {
  return texts_with(parse_pattern(expression).value()).value();
}

std::string in_json(std::string_view expression) {
  return expression_of(whole(expression), TextForm::kJson).value();
}

Error error_of(std::string_view expression) {
  const Result<TextPattern> pattern = parse_pattern(expression);
  return pattern ? texts_with(*pattern).error() : pattern.error();
}

bool finds(std::string_view expression, std::string_view text) {
  return TextMatcher().matches(whole(expression), text).value();
}

TEST(TextPattern, EscapesWhatJsonEscapes) {
  EXPECT_EQ(in_json("^ab$"), "ab");
  EXPECT_EQ(in_json(R"(^a"b$)"), R"(a\\"b)");
  EXPECT_EQ(in_json(R"(^C:\\[a-z]+$)"), R"(C:\\\\[a-z]+)");
  EXPECT_EQ(in_json(R"(^\n\x01$)"), R"(\\n\\u0001)");
  EXPECT_EQ(in_json(R"(^\n+$)"), R"((?:\\n)+)");
  EXPECT_EQ(in_json(R"(^\x1f$)"), R"(\\u001[Ff])");
  EXPECT_EQ(in_json(R"(^[\t ]$)"), R"((?: |\\t))");
  EXPECT_EQ(in_json(R"(^é\/\.$)"), R"(é\/\.)");
  EXPECT_THAT(in_json("^[^a]$"), StartsWith(R"((?:[^\u0000-\u001f"\\a]|\\(?:["\\bfnrt]|u000[)"));
  EXPECT_THAT(in_json(R"(^[\s\S]$)"), HasSubstr(R"(\\u[dD])")) << "any escape of any character";
}

TEST(TextPattern, WritesPlainTextsAsTheyAre) {
  const auto written = [](std::string_view expression, TextForm form) {
    return expression_of(whole(expression), form);
  };
  EXPECT_EQ(*written(R"(^"[\\^]$)", TextForm::kPlain), R"("[\\\^])");
  EXPECT_EQ(*written("^.$", TextForm::kPlain), R"([^\u0000-\u0008\u000a-\u000c\u000e-\u001f])");
  EXPECT_EQ(*written(R"(^["a]$)", TextForm::kEither), "a");
  EXPECT_EQ(written(R"(^"$)", TextForm::kEither).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(written(R"(^\x01$)", TextForm::kPlain).error().code, ErrorCode::kUnsupported);
}

TEST(TextPattern, SearchesWhereNothingBindsToTheEnds) {
  EXPECT_THAT(in_json("^a"), StartsWith(R"(a(?:[^\u0000-\u001f"\\]|)"));
  EXPECT_THAT(in_json("a$"), EndsWith(")*a"));
  EXPECT_EQ(in_json("^$|^x$"), "(?:|x)");
  EXPECT_EQ(in_json("(^a$)|(?:^b$)"), in_json("^a$|^b$"));
  EXPECT_EQ(in_json("^$"), "");
  for (const char* const text : {"a", "xa", "ax", "x\na\ny"}) EXPECT_TRUE(finds("a", text)) << text;
  EXPECT_TRUE(finds("", "anything"));
  EXPECT_FALSE(finds("^https://", "see https://a.b"));
  EXPECT_TRUE(finds("^a|b$", "xb"));
  EXPECT_FALSE(finds("^a|b$", "xay"));
  EXPECT_TRUE(finds("(?:^|,)a(?:,|$)", "b,a"));
  EXPECT_FALSE(finds("(?:^|,)a(?:,|$)", "ba"));
  EXPECT_TRUE(finds("(^a)?b", "xb"));
  EXPECT_FALSE(finds(".", "\n"));
  EXPECT_FALSE(finds(R"(\S)", "\xE3\x80\x80")) << "a space of some languages";
  EXPECT_FALSE(finds(R"(^\s$)", "\xE3\x80\x80")) << "and none of others";
  EXPECT_TRUE(finds(R"(^\ud83d\ude00$)", "\xF0\x9F\x98\x80"));
  EXPECT_TRUE(finds("^(?:ab?){2,3}$", "aba"));
  EXPECT_FALSE(finds("^(?:ab?){2,3}$", "abbb"));
}

TEST(TextPattern, RefusesWhatItDoesNotKnow) {
  for (const char* const expression :
       {"(?=a)", "(?!a)", "(?<=a)", "(?i)a", R"((a)\1)", R"(\bfoo)", R"(\p{L})", "a^b", "a$b",
        "(a^)b", "[]a]", "a{,3}", "a**", R"(\ud800)", R"(\k<a>)", "a{9999999999}"}) {
    const Error error = error_of(expression);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << expression;
    EXPECT_THAT(error.message, HasSubstr("not enforced")) << expression;
  }
  for (const char* const expression :
       {"(a", "a)", "[a", "*a", "^*", "[b-a]", R"(\x4)", "\\", "a{2", "a{3,2}", "\xFF"}) {
    EXPECT_EQ(error_of(expression).code, ErrorCode::kContract) << expression;
  }
  EXPECT_THAT(error_of(std::string(5000, 'a')).message, HasSubstr("5000 bytes, and may have 4096"));
  EXPECT_THAT(error_of(std::string(300, '(')).message, HasSubstr("deeper than 200"));
}

TEST(TextPattern, TakesLengthsWhereItRepeatsOneClass) {
  TextPattern letters = whole("^[a-z]+$");
  ASSERT_TRUE(limit_lengths(letters, {0, 10}));
  EXPECT_EQ(*expression_of(letters, TextForm::kJson), "[a-z]{1,10}");
  TextPattern words = whole("^[a-z]+( [a-z]+)*$");
  EXPECT_FALSE(limit_lengths(words, {0, 10}));
  EXPECT_TRUE(limit_lengths(words, {1, TextPattern::kNoLimit})) << "which they have anyhow";
  TextPattern code = whole("^(?:ab|cde)$");
  EXPECT_TRUE(limit_lengths(code, {2, 3}));
  EXPECT_FALSE(limit_lengths(code, {3, 3}));
}

TEST(TextPattern, SaysWhichRepetitionsTakeLong) {
  EXPECT_TRUE(check_repetitions(whole("^([a-z]{1,20} ){1,20}$")));
  EXPECT_TRUE(check_repetitions(whole("^(a{1,200}){1,200}$"))) << "which are counted";
  EXPECT_TRUE(check_repetitions(whole("^([0-9]{2}){100}$")));
  const Status nested = check_repetitions(whole("^(([a-z]{1,9}){1,9}){1,9}$"));
  ASSERT_FALSE(nested);
  EXPECT_THAT(nested.error().message,
              HasSubstr("729 times by repetitions of repetitions, and may 32"));
  EXPECT_FALSE(check_repetitions(whole("^(.{0,100},){0,100}$")));
  EXPECT_FALSE(check_expression("(?i)(([a-z]{1,9}){1,9}){1,9}"));
  EXPECT_TRUE(check_expression("(")) << "xgrammar says what is wrong";
}

TEST(TextPattern, TellsTextsApartByTheirBeginnings) {
  EXPECT_TRUE(begin_otherwise(whole("^x_"), whole("^y_")));
  EXPECT_TRUE(begin_otherwise(whole("^x[a-c]"), whole("^x[0-9]+")));
  EXPECT_FALSE(begin_otherwise(whole("^x_"), whole("^x")));
  EXPECT_FALSE(begin_otherwise(whole("^a"), whole("b$")));
}

TEST(TextPattern, SearchesForNoLongerThanItMay) {
  const Result<bool> found =
      TextMatcher().matches(whole("^(?:ab?)*$"), std::string(5000, 'a') + "c");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace polystate::grammar
