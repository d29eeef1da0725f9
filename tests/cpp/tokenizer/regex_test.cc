// What expressions match that mean something else in PCRE2's own syntax.

#include "tokenizer/regex/regex.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {
namespace {

bool matches(std::string_view pattern, std::string_view text, RegexSyntax syntax) {
  std::vector<TextRange> found;
  EXPECT_TRUE(Regex::compile(pattern, syntax).value().find(text, found));
  return !found.empty();
}

TEST(Regex, OnigurumasWordCharactersAreOthersInBracketsThanOutside) {
  constexpr auto kSyntax = RegexSyntax::kOniguruma;
  constexpr std::string_view kHalf = "\xC2\xBD";
  EXPECT_TRUE(matches(R"(\w)", kHalf, kSyntax));
  EXPECT_FALSE(matches(R"(\W)", kHalf, kSyntax));
  EXPECT_FALSE(matches(R"([\w])", kHalf, kSyntax));
  EXPECT_TRUE(matches(R"([^\w\s])", kHalf, kSyntax));
}

TEST(Regex, WordCharactersAreDigitsButNotOtherNumbers) {
  for (const RegexSyntax syntax : {RegexSyntax::kOniguruma, RegexSyntax::kFancyRegex}) {
    EXPECT_TRUE(matches(R"(\w)", "\xD9\xA1", syntax));       // an Arabic-Indic digit
    EXPECT_FALSE(matches(R"(\w)", "\xE2\x91\xA0", syntax));  // a circled digit
  }
}

TEST(Regex, OneLetterForSeveralOfTheOtherCaseIsRefusedWhereOnigurumaTakesIt) {
  for (const std::string_view pattern :
       {"(?i:ss)", "(?i)x|st", "(?i:\xC3\x9F)", "(?i:[\xC3\x9F])"}) {
    const Result<Regex> refused = Regex::compile(pattern, RegexSyntax::kOniguruma);
    ASSERT_FALSE(refused) << pattern;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(Regex::compile(pattern, RegexSyntax::kFancyRegex)) << pattern;
  }
  for (const std::string_view pattern :
       {"ss", "(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?i:s)s", "(?i:[a-z])", "(?i:[^\xC3\x9F])"}) {
    EXPECT_TRUE(Regex::compile(pattern, RegexSyntax::kOniguruma)) << pattern;
  }
}

// The characters of a text that each match an expression.
std::string matching(std::string_view pattern, std::string_view text, RegexSyntax syntax) {
  std::string found;
  for (const char c : text) {
    if (matches(pattern, std::string_view(&c, 1), syntax)) found += c;
  }
  return found;
}

TEST(Regex, ClassesAreIntersectedAfterTheirItemsAreUnited) {
  for (const RegexSyntax syntax : {RegexSyntax::kOniguruma, RegexSyntax::kFancyRegex}) {
    const auto of = [&](std::string_view pattern) { return matching(pattern, "abcxyz&-", syntax); };
    EXPECT_EQ(of("[a-z&&[^b]]"), "acxyz");
    EXPECT_EQ(of("[^a-z&&[^b]]"), "b&-");
    EXPECT_EQ(of("[a-z&&b-cx&&[^c]]"), "bx");
    EXPECT_EQ(of("[x[a-c&&[^b]]]"), "acx");
    EXPECT_EQ(of("[a[^a-z]]"), "a&-");
    EXPECT_EQ(of("[^[^a-c]&&[^b]]"), "abc");
    EXPECT_EQ(of("[a&&]"), "");
    EXPECT_EQ(of("[^&&a]"), "abcxyz&-");
    EXPECT_EQ(of("[a&x]"), "ax&");
  }
}

TEST(Regex, AClassLessAnotherIsOneInRustAlone) {
  constexpr std::string_view kText = "abcABC-";
  EXPECT_EQ(matching("[a-c--b]", kText, RegexSyntax::kFancyRegex), "ac");
  EXPECT_EQ(matching("[a-c--[ab]&&c]", kText, RegexSyntax::kFancyRegex), "c");
  EXPECT_EQ(matching("[--a]", kText, RegexSyntax::kFancyRegex), "a-");
  EXPECT_EQ(matching("[A-C--b]", kText, RegexSyntax::kOniguruma), "abABC-");
  EXPECT_EQ(Regex::compile("[a~~b]", RegexSyntax::kFancyRegex).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(Regex::compile("[a&&b]", RegexSyntax::kPython).error().code, ErrorCode::kUnsupported);
}

TEST(Regex, OnigurumasEndOfALineIsOneAlsoWhereItHasTwoCharacters) {
  std::vector<TextRange> found;
  ASSERT_TRUE(Regex::compile(R"(\R)", RegexSyntax::kOniguruma)
                  .value()
                  .find("a\r\nb\n\n\xE2\x80\xA8", found));
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].end - found[0].begin, 2U);
  EXPECT_EQ(found[3].end - found[3].begin, 3U);
}

TEST(Regex, AnExpressionThatReadsFarAtEveryMatchIsStopped) {
  std::vector<TextRange> found;
  const Regex reads_all = Regex::compile("a(?=.*b)|a", RegexSyntax::kOniguruma).value();
  EXPECT_TRUE(reads_all.find(std::string(1000, 'a'), found));
  const Status stopped = reads_all.find(std::string(std::size_t{1} << 20U, 'a'), found);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kContract);
}

TEST(Regex, AnExpressionThatTriesWithoutEndIsStopped) {
  std::vector<TextRange> found;
  const Regex backtracks = Regex::compile(R"((?:a+)+\d)", RegexSyntax::kOniguruma).value();
  EXPECT_FALSE(backtracks.find(std::string(5000, 'a') + "b", found));
}

}  // namespace
}  // namespace polystate::tokenizer
