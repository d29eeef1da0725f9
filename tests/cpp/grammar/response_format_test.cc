#include "polystate/grammar/response_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polystate/core/result.h"

namespace polystate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = ResponseFormat::Kind;

TEST(ResponseFormat, TakesTheFormsThatOthersHave) {
  EXPECT_EQ(ResponseFormat::parse(R"({"type": "json_object"})")->kind, Kind::kJsonObject);
  for (const char* const form :
       {R"({"type": "json_schema", "schema": {"b": 1, "a": [2]}})",
        R"({"type": "json_schema", "json_schema": {"name": "n", "schema": {"b": 1, "a": [2]}}})"}) {
    const auto schema = ResponseFormat::parse(form);
    ASSERT_TRUE(schema) << schema.error().message;
    EXPECT_EQ(schema->kind, Kind::kJsonSchema);
    EXPECT_EQ(schema->text, R"({"b":1,"a":[2]})") << "names keep their order";
  }
  EXPECT_EQ(ResponseFormat::parse(R"({"type": "regex", "pattern": "a\nb"})")->text, "a\nb");
  EXPECT_THAT(ResponseFormat::parse(R"({"type": "choice", "choices": ["a", ""]})")->choices,
              ElementsAre("a", ""));
  EXPECT_EQ(ResponseFormat::parse(R"({"type": "grammar", "grammar": "g"})")->kind, Kind::kGbnf);
  const auto lark = ResponseFormat::parse(R"({"type":"grammar","grammar":"g","syntax":"lark"})");
  EXPECT_EQ(lark->kind, Kind::kLark);
  EXPECT_EQ(ResponseFormat::parse(R"({"type": "structural_tag", "format": {}})")->kind,
            Kind::kStructuralTag);
}

TEST(ResponseFormat, SaysWhatIsMalformedAndWhere) {
  const auto message = [](const char* json) {
    const auto format = ResponseFormat::parse(json);
    EXPECT_FALSE(format);
    EXPECT_EQ(format.error().code, ErrorCode::kContract);
    return format.error().message;
  };
  EXPECT_THAT(message("{"), HasSubstr("response_format: "));
  EXPECT_THAT(message("[]"), HasSubstr("response_format"));
  EXPECT_THAT(message("{}"), HasSubstr("type"));
  EXPECT_THAT(message(R"({"type": 3})"), HasSubstr("is 3"));
  EXPECT_THAT(message(R"({"type": "json_schema"})"), HasSubstr("json_schema"));
  EXPECT_THAT(message(R"({"type": "json_schema", "json_schema": 1})"), HasSubstr("json_schema"));
  EXPECT_THAT(message(R"({"type": "regex", "pattern": null})"), HasSubstr("pattern"));
}

}  // namespace
}  // namespace polystate
