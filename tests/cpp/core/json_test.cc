#include "core/json.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/names.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

std::string error_of(std::string_view text) {
  const Result<Json> json = parse_json(text);
  return json ? "(no error)" : json.error().message;
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = parse_json(R"([null, true, -3, 2.5, "é\n", [], {"b": 1, "a": 2}])").value();
  const Json::Array& array = *json.array();
  ASSERT_EQ(array.size(), 7);
  EXPECT_TRUE(array[0].is_null());
  EXPECT_EQ(std::get<bool>(array[1].value), true);
  EXPECT_EQ(std::get<std::int64_t>(array[2].value), -3);
  EXPECT_EQ(std::get<double>(array[3].value), 2.5);
  EXPECT_EQ(std::get<std::string>(array[4].value), "é\n");
  EXPECT_TRUE(array[5].array()->empty());
  EXPECT_EQ(array[6].object()->size(), 2);
}

TEST(Json, AnObjectKeepsItsOrderAndFindsItsMembers) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) {
    text += (i == 0 ? "" : ", ") + ("\"" + std::to_string(i * 7919 % 1000) + "\": ") +
            std::to_string(i);
  }
  const Json json = parse_json(text + "}").value();
  int next = 0;
  for (const auto& [name, value] : *json.object()) {
    EXPECT_EQ(name, std::to_string(next * 7919 % 1000));
    EXPECT_EQ(std::get<std::int64_t>(value.value), next);
    EXPECT_EQ(json.object()->find(name), &value);
    ++next;
  }
  EXPECT_EQ(next, 1000);
  EXPECT_EQ(json.object()->find("1000"), nullptr);
  EXPECT_EQ(JsonObject().find(""), nullptr);
}

TEST(Json, WholeNumbersKeepAllSixtyFourBits) {
  const Json json =
      parse_json("[9223372036854775807, -9223372036854775808, 18446744073709551615]").value();
  const Json::Array& array = *json.array();
  EXPECT_EQ(std::get<std::int64_t>(array[0].value), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(std::get<std::int64_t>(array[1].value), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(std::get<std::uint64_t>(array[2].value), std::numeric_limits<std::uint64_t>::max());
}

TEST(Json, NumbersThatFitNoTypeAreRefusedWithTheirPlace) {
  EXPECT_EQ(error_of(R"({"a": [0, 18446744073709551616]})"),
            "a[1]: the number 18446744073709551616 does not fit 64 bits");
  EXPECT_EQ(error_of(R"([123456789012345678901234567890])"),
            "[0]: the number 123456789012345678901234567890 does not fit 64 bits");
  EXPECT_EQ(error_of(R"([-9223372036854775809])"),
            "[0]: the number -9223372036854775809 does not fit 64 bits");
  const JsonLimits rounding = {.rounds_large_integers = true};
  EXPECT_EQ(described(parse_json("123456789012345678901234567890", rounding).value()),
            "1.2345678901234568e+29");
  EXPECT_EQ(error_of("[1e999]"), "not JSON: number overflow parsing '1e999'");
}

TEST(Json, AKeyThatOccursTwiceIsRefusedWithItsPlace) {
  EXPECT_EQ(error_of(R"({"a": {"b": 1, "c": 2, "b": 3}})"), "a: the key \"b\" occurs twice");
  EXPECT_EQ(error_of(R"({"a": 1, "a": 1})"), "the key \"a\" occurs twice");
  EXPECT_EQ(error_of(R"([{"a": 1}, {"a": 1, "\u0061": 1}])"), "[1]: the key \"a\" occurs twice");
}

TEST(Json, WhereNamesMayRepeatTheLastValueStands) {
  const JsonLimits limits = {.names_may_repeat = true};
  const Json json = parse_json(R"({"a": 1, "b": 2, "a": 3, "c": 4, "a": 5})", limits).value();
  std::string shown;
  for (const auto& [name, value] : *json.object()) shown += name + described(value) + " ";
  EXPECT_EQ(shown, "a5 b2 c4 ");  // as json.loads of Python has it
}

TEST(Json, NestingIsLimited) {
  for (const std::size_t depth : {std::size_t{1}, std::size_t{16}, std::size_t{128}}) {
    const std::string fits = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_TRUE(parse_json(fits, {.max_depth = depth}));
    const std::string bomb(1000000, '[');
    const std::string message = parse_json(bomb, {.max_depth = depth}).error().message;
    EXPECT_TRUE(message.ends_with("values are nested deeper than " + std::to_string(depth)));
  }
}

TEST(Json, TheNumberOfValuesIsLimited) {
  std::string text = "[0";
  for (std::size_t i = 0; i < JsonLimits().max_values; ++i) text += ",0";
  EXPECT_EQ(error_of(text + "]"), "[2097151]: the document has more than 2097152 values");
  EXPECT_EQ(parse_json("[0, 1, 2]", {.max_values = 3}).error().message,
            "[2]: the document has more than 3 values");
}

// Writes down what it is given, and refuses true numbers.
class Recorder : public JsonSink {
 public:
  void start() override { record += '<'; }
  bool key(const std::string& key) override { return add(key + ":"); }
  bool string(const std::string& value) override { return add(value); }
  bool number(double value) override { return value != 0.5 && add(std::to_string(int(value))); }
  bool begin_array() override { return add("("); }
  bool end_array() override { return add(")"); }
  [[nodiscard]] std::string problem() const override { return "must not have 0.5"; }

  std::string record;

 private:
  bool add(const std::string& text) {
    record += text + " ";
    return true;
  }
};

TEST(Json, ASinkTakesThePlaceOfAValue) {
  Recorder inner;
  const std::vector<JsonSinkPlace> sinks = {{{"model", "vocab"}, &inner}};
  const Json json =
      parse_json(R"({"model": {"a": 1, "vocab": {"x": 7, "y": ["s", -2]}, "b": 2}, "vocab": [0]})",
                 {}, sinks)
          .value();
  EXPECT_EQ(inner.record, "<x: 7 y: ( s -2 ) ");
  const Json::Object& model = *json.object()->find("model")->object();
  EXPECT_EQ(model.find("vocab"), nullptr);
  EXPECT_EQ(described(*model.find("b")), "2");
  EXPECT_EQ(described(*json.object()->find("vocab")), "an array of 1");

  Recorder whole;
  const std::vector<JsonSinkPlace> all = {{{}, &whole}};
  EXPECT_TRUE(parse_json(R"(["a", [1], 2])", {}, all).value().is_null());
  EXPECT_EQ(whole.record, "<a ( 1 ) 2 ");
}

TEST(Json, WhatASinkDoesNotTakeIsRefusedWithItsPlace) {
  for (const std::string_view value : {"0.5", "null", "true", "{}", "{\"x\": 1}"}) {
    Recorder sink;
    const std::vector<JsonSinkPlace> sinks = {{{"model", "vocab"}, &sink}};
    const std::string text = R"({"model": {"vocab": [1, )" + std::string(value) + "]}}";
    EXPECT_EQ(parse_json(text, {}, sinks).error().message, "model.vocab: must not have 0.5");
  }
}

TEST(Json, MessagesShowValues) {
  for (const auto& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"null", "null"},
           {"true", "true"},
           {"-3", "-3"},
           {"18446744073709551615", "18446744073709551615"},
           {"4.0", "4.0"},
           {"-0.0", "-0.0"},
           {"1e22", "1e+22"},
           {"0.1", "0.1"},
           {"\"never\"", "\"never\""},
           {R"("é\u001b\"")", R"("\u00e9\u001b\"")"},
           {"[]", "an empty array"},
           {"[1, 2]", "an array of 2"},
           {"{}", "an empty object"},
           {R"({"a": 1})", "an object"},
       }) {
    EXPECT_EQ(described(parse_json(text).value()), shown);
  }
  // Cut within a character of two bytes.
  const std::string text = described(Json{std::string(119, 'a') + "éb"});
  EXPECT_EQ(text, "\"" + std::string(119, 'a') + "\"...");
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

}  // namespace
}  // namespace polystate
