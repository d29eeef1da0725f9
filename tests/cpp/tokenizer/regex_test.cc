// What expressions match that mean something else in PCRE2's own syntax.

#include "tokenizer/regex/regex.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {
namespace {

bool matches(std::string_view pattern, std::string_view text, RegexSyntax syntax) {
  std::vector<ByteRange> found;
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

}  // namespace
}  // namespace polystate::tokenizer
