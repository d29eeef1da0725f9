// Which JSON a schema allows, followed byte by byte.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/byte_tokenizer.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using testing::HasSubstr;
using Kind = ResponseFormat::Kind;

class Schema : public testing::Test {
 protected:
  Result<std::shared_ptr<const LogitsProcessor>> compile(std::string_view schema) {
    return compiler_->compile({Kind::kJsonSchema, std::string(schema)}, {{kEndOfText}});
  }

  // Whether a text is one that the schema allows as a whole.
  bool allows(std::string_view schema, std::string_view text) {
    const auto processor = compile(schema);
    if (!processor) ADD_FAILURE() << schema << ": " << processor.error().message;
    if (!processor) return false;
    const auto state = (*processor)->start({}).value();
    std::vector<float> scores(kByteVocabulary);
    const auto is_next = [&](TokenId token) {
      scores.assign(kByteVocabulary, 0.0F);
      return (*processor)->process({{}, 0, {}, state.get()}, scores) && !std::isinf(scores[token]);
    };
    for (const char byte : text) {
      if (!is_next(token_of(byte)) || !state->advance(token_of(byte))) return false;
    }
    return is_next(kEndOfText);
  }

  void expect_allowed(std::string_view schema, const std::vector<std::string_view>& texts) {
    for (const std::string_view text : texts) EXPECT_TRUE(allows(schema, text)) << schema << text;
  }
  void expect_forbidden(std::string_view schema, const std::vector<std::string_view>& texts) {
    for (const std::string_view text : texts) EXPECT_FALSE(allows(schema, text)) << schema << text;
  }

  Error error_of(std::string_view schema) {
    const auto processor = compile(schema);
    EXPECT_FALSE(processor) << schema;
    return processor ? Error{ErrorCode::kEngine, "none"} : processor.error();
  }
  void expect_refused(std::string_view schema, std::string_view message) {
    const Error error = error_of(schema);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << schema;
    EXPECT_THAT(error.message, HasSubstr(message)) << schema;
  }

  std::shared_ptr<const Tokenizer> tokenizer_ =
      Tokenizer::parse(TokenizerFormat::kTokenizerJson, byte_tokenizer_json()).value();
  std::shared_ptr<const GrammarCompiler> compiler_ = GrammarCompiler::create(*tokenizer_).value();
};

TEST_F(Schema, FollowsReferencesWithEscapes) {
  const std::string_view slash = R"({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": 1}}})";
  expect_allowed(slash, {"1"});
  expect_forbidden(slash, {"2"});
  expect_allowed(R"({"$ref": "#/$defs/Box%3Cint%3E", "$defs": {"Box<int>": {"const": 1}}})", {"1"});
  expect_allowed(R"({"$ref": "#/$defs/~0%25", "$defs": {"~%": {"const": 1}}})", {"1"});
  expect_allowed(R"({"$ref": "#/$defs/a/prefixItems/1",
                     "$defs": {"a": {"prefixItems": [{}, {"const": 1}]}}})",
                 {"1"});
  expect_allowed(R"({"$id": "urn:a", "$ref": "urn:a#/$defs/a", "$defs": {"a": {"const": 1}}})",
                 {"1"});
}

TEST_F(Schema, FollowsReferencesToTheWholeAndToOthers) {
  const std::string_view list = R"({"type": "object", "required": ["v"], "properties":
      {"v": {"$ref": "#/$defs/a", "description": "d"}, "next": {"$ref": "#"}},
      "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "boolean"}}})";
  expect_allowed(list, {R"({"v": true})", R"({"v": true, "next": {"v": false}})"});
  expect_forbidden(list, {R"({"v": 1})", R"({"v": true, "next": {}})"});
}

TEST_F(Schema, TakesATypeBesideAReferenceThatHasIt) {
  const std::string_view same =
      R"({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {"enum": ["x", "y"]}}})";
  expect_allowed(same, {R"("x")"});
  expect_refused(R"({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {"enum": ["x", 1]}}})",
                 "'type' is not enforced beside '$ref'");
  expect_refused(R"({"$ref": "#/$defs/a", "minLength": 1, "$defs": {"a": {"type": "string"}}})",
                 "'minLength' is not enforced beside '$ref'");
}

TEST_F(Schema, RefusesReferencesThatLeadNowhere) {
  EXPECT_THAT(error_of(R"({"$ref": "#"})").message, HasSubstr("leads back to itself"));
  EXPECT_THAT(error_of(R"({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
                           "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}})")
                  .message,
              HasSubstr("leads back to itself"));
  EXPECT_THAT(error_of(R"({"$ref": "#/$defs/a"})").message, HasSubstr("there is no '#/$defs/a'"));
  expect_refused(R"({"$ref": "other.json#/a"})", "'other.json#/a' is not followed");
  expect_refused(R"({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}})", "'#a' is not followed");
}

// As pydantic makes them.
constexpr std::string_view kPets = R"({"properties": {
    "pet": {"discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"},
                              "propertyName": "kind"},
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "title": "Pet"},
    "other": {"anyOf": [{"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
                        {"type": "null"}], "default": null}},
    "required": ["pet"], "title": "Owner", "type": "object",
    "$defs": {
      "Black": {"properties": {"kind": {"const": "cat", "type": "string"}, "color":
                {"const": "black", "type": "string"}}, "required": ["kind", "color"],
                "type": "object"},
      "White": {"properties": {"kind": {"const": "cat", "type": "string"}, "color":
                {"const": "white", "type": "string"}}, "required": ["kind", "color"],
                "type": "object"},
      "Cat": {"oneOf": [{"$ref": "#/$defs/Black"}, {"$ref": "#/$defs/White"}],
              "discriminator": {"propertyName": "color"}},
      "Dog": {"properties": {"kind": {"enum": ["dog", "wolf"], "type": "string"}},
              "required": ["kind"], "type": "object"}}})";

TEST_F(Schema, TakesUnionsThatAPropertyTellsApart) {
  expect_allowed(kPets, {R"({"pet": {"kind": "cat", "color": "white"}})",
                         R"({"pet": {"kind": "dog"}, "other": null})",
                         R"({"pet": {"kind": "wolf"}, "other": {"kind": "dog"}})"});
  expect_forbidden(kPets, {R"({"pet": null})", R"({"pet": {"kind": "cat"}})",
                           R"({"pet": {"kind": "dog", "color": "white"}})"});
}

TEST_F(Schema, TakesCasesThatExcludeOneAnother) {
  expect_allowed(R"({"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
                     "$defs": {"a": {"type": "integer"}}})",
                 {"null", "7"});
  expect_allowed(R"({"oneOf": [{"const": 1, "title": "A"}, {"const": "b"}]})", {"1", R"("b")"});
  expect_allowed(R"({"type": "string", "oneOf": [{"const": "a"}, {"const": "b"}]})", {R"("b")"});
  for (const char* const schema : {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})",
                                   R"({"oneOf": [{"const": 1}, {"enum": [2, 1.0]}]})",
                                   R"({"oneOf": [{"type": "object"}, {"type": "object"}]})"}) {
    expect_refused(schema, "'oneOf' is enforced of cases that exclude one another");
  }
  EXPECT_THAT(error_of(R"({"oneOf": []})").message, HasSubstr("'oneOf' is empty"));
}

TEST_F(Schema, WritesNumbersAsJsonHasThem) {
  const std::string_view number = R"({"type": "number"})";
  expect_allowed(number, {"0", "-12.5", "3.14159265358979312", "1e-7", "1.5E+10", "-0"});
  expect_forbidden(number, {"01", "1.", ".5", "1e", "1e400", "+1", "\"1\""});
  expect_forbidden(number, {"12345678901234567", "1.123456789012345678"});
  expect_allowed("{}", {"1.25e-3"});
}

TEST_F(Schema, LimitsNumbers) {
  expect_allowed(R"({"type": "number", "minimum": 0.5, "maximum": 1e1})", {"0.5", "9.25", "10"});
  expect_forbidden(R"({"type": "number", "minimum": 0.5, "maximum": 1e1})", {"0.49", "10.1"});
  expect_allowed(R"({"type": "number", "exclusiveMinimum": 1e-7})", {"0.000001"});
  expect_forbidden(R"({"type": "number", "exclusiveMinimum": 1e-7})", {"0", "0.0"});
  expect_allowed(R"({"type": "number", "maximum": 1e300})", {"9007199254740993", "-1.5"});
  expect_allowed(R"({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3e0})", {"1", "2"});
  expect_forbidden(R"({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3e0})", {"0", "3"});
  expect_allowed(R"({"type": "integer", "maximum": 18446744073709551615})", {"0"});
  expect_allowed(R"({"type": "number", "multipleOf": 5})", {"10", "-5"});
  expect_forbidden(R"({"type": "number", "multipleOf": 5})", {"7"});
}

TEST_F(Schema, RefusesLimitsByName) {
  expect_refused(R"({"type": "number", "multipleOf": 0.01})", "'multipleOf' is 0.01");
  expect_refused(R"({"type": "integer", "multipleOf": 2, "minimum": 0})", "'multipleOf'");
  expect_refused(R"({"type": "number", "minimum": 1e300})", "'minimum' is 1e+300");
  expect_refused(R"({"type": "number", "minimum": 1e-8, "maximum": 2e-8})", "at most 6 decimals");
  expect_refused(R"({"type": "integer", "minimum": 9223372036854775808})", "of 64 bits");
  EXPECT_THAT(error_of(R"({"type": "integer", "minimum": true})").message,
              HasSubstr("'minimum' must be a number"));
  EXPECT_THAT(error_of(R"({"type": "integer", "minimum": 0.2, "maximum": 0.8})").message,
              HasSubstr("no whole number"));
}

TEST_F(Schema, TakesWordsThatAssertNothing) {
  expect_allowed(R"({"$schema": "s", "$id": "i", "$comment": "c", "title": "t", "description": "d",
      "default": 0, "examples": [1], "example": 1, "deprecated": true, "readOnly": true,
      "writeOnly": false, "contentEncoding": "base64", "contentMediaType": "m",
      "contentSchema": {"not": {}}, "discriminator": {}, "externalDocs": {}, "x-order": 1,
      "uniqueItems": false, "format": "int32", "type": "integer"})",
                 {"1"});
  for (const char* const word :
       {"not", "if", "contains", "dependentRequired", "minimal", "$dynamicRef"}) {
    expect_refused(std::string(R"({"type": "integer", ")") + word + R"(": {}})",
                   "'" + std::string(word) + "' is not enforced");
  }
  expect_refused(R"({"type": "array", "uniqueItems": true})", "'uniqueItems' is not enforced");
  expect_refused(R"({"properties": {"a": {"$id": "b"}}})", "#/properties/a: '$id'");
}

TEST_F(Schema, NamesThatExpressionsGiveHaveOneSchema) {
  const std::string_view same = R"({"type": "object", "properties": {"ab": {"type": "integer"}},
      "patternProperties": {"^a": {"type": "integer"}, "^x": {"type": "null"}}})";
  expect_allowed(same, {R"({"ab": 1})", R"({"ab": 1, "ac": 2})", R"({"x": null})"});
  expect_forbidden(same, {R"({"ab": null})", R"({"b": 1})"});
  const std::string_view required = R"({"type": "object", "required": ["ab"],
      "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": false})";
  expect_allowed(required, {R"({"ab": 1})"});
  expect_forbidden(required, {"{}", R"({"ac": 1})"});
  expect_refused(R"({"properties": {"ab": {}}, "patternProperties": {"b$": {"type": "null"}}})",
                 "'patternProperties' is not enforced for 'ab'");
  expect_refused(R"({"patternProperties": {"^a": {}, "b$": {"type": "null"}}})",
                 "begin in different ways");
  expect_refused(R"({"patternProperties": {"^a": {}}, "additionalProperties": true})",
                 "'additionalProperties' is not enforced beside 'patternProperties'");
  expect_refused(R"({"propertyNames": {"maxLength": 1}, "properties": {"ab": {}}})",
                 "'propertyNames' is not enforced beside 'properties'");
  expect_refused(R"({"propertyNames": {"type": "integer"}})", "speaks of texts alone");
  EXPECT_THAT(error_of(R"({"required": ["b"], "patternProperties": {"^a": {}}})").message,
              HasSubstr("requires 'b'"));
}

TEST_F(Schema, LengthsMayStandBesideAPattern) {
  const std::string_view word =
      R"({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3})";
  expect_allowed(word, {R"("ab")", R"("abc")"});
  expect_forbidden(word, {R"("a")", R"("abcd")"});
  expect_refused(R"({"type": "string", "pattern": "a", "minLength": 2})",
                 "'minLength' is not enforced beside 'pattern'");
  expect_refused(R"({"type": "string", "format": "date", "maxLength": 2})",
                 "'maxLength' is not enforced beside 'format'");
}

TEST_F(Schema, LimitsHowMuchThereIsToCompile) {
  for (const char* const schema :
       {R"({"type": "string", "maxLength": 5000})", R"({"type": "string", "minLength": 2000})",
        R"({"type": "string", "pattern": "^[a-z]{0,1000}$"})",
        R"({"type": "array", "maxItems": 2000, "items": {"type": "integer"}})",
        R"({"type": "string", "pattern": "^([a-z]{1,20} ){1,20}$"})"}) {
    EXPECT_TRUE(compile(schema)) << schema;
  }
  std::string names;
  for (int i = 0; i < 400; ++i) {
    const std::string name = "name" + std::to_string(i);
    names += (i == 0 ? "\"" : ", \"") + name + R"(": {"type": "string"})";
  }
  const std::string many = R"({"type": "object", "properties": {)" + names + "}";
  EXPECT_TRUE(allows(many + "}", R"({"name7": "a", "name399": "b"})"));
  expect_refused(many + R"(, "maxProperties": 2})", "'maxProperties' is enforced of 64");
  const Error nested = error_of(R"({"type": "string", "pattern": "(([a-z]{1,9}){1,9}){1,9}"})");
  EXPECT_THAT(nested.message, HasSubstr("repeats a part 729 times"));
  const Error long_one = error_of(R"({"type": "string", "pattern": "^(.{0,100},){0,100}$"})");
  EXPECT_THAT(long_one.message, HasSubstr("and may have 512"));
}

}  // namespace
}  // namespace polystate
