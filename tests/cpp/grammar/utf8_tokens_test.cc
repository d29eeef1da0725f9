#include "grammar/utf8_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace polystate::grammar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Utf8Tokens, ForbidsWhatMakesNoCharacter) {
  std::vector<std::string> texts = {
      "\x80", std::string("\x8F") + "a", "\x90", "\x9F", "\xA0", "\xBF\xBF", "a", "\xED"};
  const Utf8Tokens tokens(texts);
  EXPECT_THAT(tokens.forbidden_after(0xE0), ElementsAre(0, 1, 2, 3)) << "written in two bytes";
  EXPECT_THAT(tokens.forbidden_after(0xED), ElementsAre(4, 5)) << "surrogates";
  EXPECT_THAT(tokens.forbidden_after(0xF0), ElementsAre(0, 1)) << "written in three bytes";
  EXPECT_THAT(tokens.forbidden_after(0xF4), ElementsAre(2, 3, 4, 5)) << "beyond U+10FFFF";
  EXPECT_THAT(tokens.forbidden_after('a'), IsEmpty());
  EXPECT_EQ(tokens.last_byte(7), 0xED);
  EXPECT_EQ(tokens.last_byte(1), 'a');
  EXPECT_EQ(tokens.last_byte(100), 0) << "a token of the model alone";
}

TEST(Utf8Tokens, ClearsTokensThatAreMalformedByThemselves) {
  std::vector<std::string> texts = {"a\xED\xA0", "\xED\x9F\xBF", "\xF0\x8F", "\xC3\xA9"};
  const Utf8Tokens tokens(texts);
  EXPECT_THAT(texts, ElementsAre("", "\xED\x9F\xBF", "", "\xC3\xA9"));
}

}  // namespace
}  // namespace polystate::grammar
