#include "artifact/json.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "artifact/names.h"
#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

std::string error_of(std::string_view text) {
  const Result<Json> json = Json::parse(text);
  return json ? "(no error)" : json.error().message;
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = Json::parse(R"([null, true, -3, 2.5, "é\n", [], {"b": 1, "a": 2}])").value();
  const auto& array = std::get<Json::Array>(json.value);
  ASSERT_EQ(array.size(), 7);
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(array[0].value));
  EXPECT_EQ(std::get<bool>(array[1].value), true);
  EXPECT_EQ(std::get<std::int64_t>(array[2].value), -3);
  EXPECT_EQ(std::get<double>(array[3].value), 2.5);
  EXPECT_EQ(std::get<std::string>(array[4].value), "é\n");
  EXPECT_TRUE(std::get<Json::Array>(array[5].value).empty());
  const auto& object = std::get<Json::Object>(array[6].value);
  ASSERT_EQ(object.size(), 2);
  EXPECT_EQ(object[0].name, "a");
  EXPECT_EQ(std::get<std::int64_t>(object[0].value.value), 2);
}

TEST(Json, IntegersKeepAllSixtyFourBits) {
  const Json json = Json::parse("[9223372036854775807, -9223372036854775808]").value();
  const auto& array = std::get<Json::Array>(json.value);
  EXPECT_EQ(std::get<std::int64_t>(array[0].value), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(std::get<std::int64_t>(array[1].value), std::numeric_limits<std::int64_t>::min());
}

TEST(Json, NumbersThatFitNoTypeAreRefusedWithTheirPlace) {
  EXPECT_EQ(error_of(R"({"a": [0, 9223372036854775808]})"),
            "a[1]: the number 9223372036854775808 does not fit 64 bits");
  EXPECT_EQ(error_of(R"([123456789012345678901234567890])"),
            "[0]: the number 123456789012345678901234567890 does not fit 64 bits");
  EXPECT_EQ(error_of(R"([-9223372036854775809])"),
            "[0]: the number -9223372036854775809 does not fit 64 bits");
  EXPECT_EQ(error_of("[1e999]"), "not JSON: number overflow parsing '1e999'");
}

TEST(Json, AKeyThatOccursTwiceIsRefusedWithItsPlace) {
  EXPECT_EQ(error_of(R"({"a": {"b": 1, "c": 2, "b": 3}})"), "a: the key \"b\" occurs twice");
  EXPECT_EQ(error_of(R"({"a": 1, "a": 1})"), "the key \"a\" occurs twice");
  EXPECT_EQ(error_of(R"([{"a": 1}, {"a": 1, "\u0061": 1}])"), "[1]: the key \"a\" occurs twice");
}

TEST(Json, NestingIsLimited) {
  const std::string fits = std::string(Json::kMaxDepth, '[') + std::string(Json::kMaxDepth, ']');
  EXPECT_EQ(error_of(fits), "(no error)");
  const std::string bomb(1000000, '[');
  EXPECT_TRUE(error_of(bomb).ends_with("values are nested deeper than 128")) << error_of(bomb);
}

TEST(Json, TheNumberOfValuesIsLimited) {
  std::string text = "[0";
  for (std::size_t i = 0; i < Json::kMaxValues; ++i) text += ",0";
  EXPECT_EQ(error_of(text + "]"), "[2097151]: the document has more than 2097152 values");
}

TEST(Json, TextThatIsNotUtf8IsRefused) {
  EXPECT_EQ(error_of("\"\xff\""),
            "not JSON: parse error at line 1, column 2: syntax error while "
            "parsing value - invalid string: ill-formed UTF-8 byte");
  EXPECT_NE(error_of("\"\xc3(\""), "(no error)");
  EXPECT_NE(error_of("\"\xed\xa0\x80\""), "(no error)");
}

TEST(Json, WhatIsNotJsonIsRefused) {
  for (const std::string_view text :
       {"", " ", "{", "[1,]", "{\"a\":1,}", "nul", "[1] x", "'a'", "[01]", "[NaN]", "[Infinity]",
        "// no\n1", "\"a\nb\"", "[1"}) {
    EXPECT_TRUE(error_of(text).starts_with("not JSON: ")) << text;
  }
  EXPECT_TRUE(error_of(std::string_view("1\0", 2)).starts_with("not JSON: "));
}

TEST(Json, MessagesHoldNoBytesThatATerminalActsOn) {
  const std::string message =
      error_of("{\"a\x1b[31m\": 1, \"\\u001b[31m\": 1, \"\\u001b[31m\": 1}");
  EXPECT_TRUE(is_printable(message)) << message;
  EXPECT_EQ(error_of(R"({"\u001b[31m": 1, "\u001b[31m": 1})"), "the key \"?[31m\" occurs twice");
}

TEST(Names, IdentifiersArePythons) {
  for (const std::string_view name : {"a", "_", "decode_2", "état", "状態"}) {
    EXPECT_TRUE(is_identifier(name)) << name;
  }
  for (const std::string_view name :
       {"", "2a", "a b", "a.b", "a-b", "a\n", "a\u202eb", "a\u0085"}) {
    EXPECT_FALSE(is_identifier(name)) << name;
  }
}

TEST(Names, HaveALimitOfBytes) {
  EXPECT_TRUE(is_identifier(std::string(kLongestName, 'a')));
  EXPECT_FALSE(is_identifier(std::string(kLongestName + 1, 'a')));
  EXPECT_TRUE(is_dotted_name(std::string(kLongestName, 'a')));
  EXPECT_FALSE(is_dotted_name(std::string(kLongestName + 1, 'a')));
  EXPECT_TRUE(is_file_name(std::string(kLongestName, 'a')));
  EXPECT_FALSE(is_file_name(std::string(kLongestName + 1, 'a')));
}

TEST(Names, DottedNamesHaveNoEmptyPart) {
  for (const std::string_view name : {"a", "0", "decoder.layers.0.keys", "heads.en-fr.cache"}) {
    EXPECT_TRUE(is_dotted_name(name)) << name;
  }
  for (const std::string_view name : {"", ".", "a.", ".a", "a..b", "a b", "a/b", "../a"}) {
    EXPECT_FALSE(is_dotted_name(name)) << name;
  }
}

TEST(Names, FileNamesCannotLeaveTheFolder) {
  for (const std::string_view name : {"model.pte", "a", "A-1_b.c.d"})
    EXPECT_TRUE(is_file_name(name)) << name;
  for (const std::string_view name :
       {"", ".", "..", ".hidden", "a/b", "/a", "a\\b", "a b", "é", "a\n"}) {
    EXPECT_FALSE(is_file_name(name)) << name;
  }
}

TEST(Names, Utf8IsCheckedToTheLetter) {
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
