#include "core/json_cursor.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// The message of what `read` records about a document.
template <typename Read>
std::string message_of(std::string_view text, Read read, std::string_view name = {}) {
  const Json json = parse_json(text).value();
  Status status;
  read(JsonCursor(json, status, name));
  return status ? "(no error)" : status.error().message;
}

TEST(JsonCursor, ReadsWhatIsThere) {
  const Json json = parse_json(R"({"yes": true, "n": 7, "x": 2, "t": "é", "list": [1, 2],
                                   "none": null, "map": {"b": 1, "a": 2}})")
                        .value();
  Status status;
  const JsonCursor root(json, status);
  EXPECT_TRUE(root["yes"].boolean());
  EXPECT_EQ(root["n"].integer(7, 7), 7);
  EXPECT_EQ(root["n"].index(8, "things"), 7);
  EXPECT_EQ(root["x"].number(), 2.0);
  EXPECT_EQ(root["t"].character(), "é");
  EXPECT_EQ(root["list"].elements(2).size(), 2);
  EXPECT_EQ(root["list"].element(1).integer(), 2);
  std::string keys;
  for (const auto& [key, value] : root["map"].fields(2)) keys += key;
  EXPECT_EQ(keys, "ba");
  EXPECT_FALSE(root.optional("none"));
  EXPECT_FALSE(root.optional("other"));
  EXPECT_EQ(root.string("none", "else"), "else");
  EXPECT_EQ(root.size("n", 1), 7);
  EXPECT_TRUE(root.boolean("other", true));
  EXPECT_TRUE(status) << status.error().message;
}

TEST(JsonCursor, ThePlaceAndTheValueAreInTheMessage) {
  constexpr std::string_view kText =
      R"({"a": [{"b": 1.0}, {"b c": "x\u001b"}], "large": 18446744073709551615})";
  const auto message = [&](auto read) { return message_of(kText, read); };
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["a"].element(0)["b"].integer(); }),
            "a[0].b: must be an integer, is 1.0");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["a"].element(1)["b c"].text(); }),
            R"(a[1]["b c"]: the text "x\u001b" has control characters)");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["a"].element(1)["b c"].character(); }),
            R"(a[1]["b c"]: must be one character, is "x\u001b")");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["a"].element(2); }), "a: has no element 2");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["a"].elements(1); }),
            "a: has 2 elements; the limit is 1");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at.fields(1); }),
            "has 2 entries; the limit is 1");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["c"]; }), "the key \"c\" is missing");
  EXPECT_EQ(message([](const JsonCursor& at) { at.expect_keys({"a"}); }),
            "the key \"large\" is unknown");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["large"].integer(); }),
            "large: is 18446744073709551615; the largest allowed is 9223372036854775807");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["large"].index(3, "things"); }),
            "large: is 18446744073709551615; the largest allowed is 9223372036854775807");
  EXPECT_EQ(message([](const JsonCursor& at) { (void)at["a"].optional("b"); }),
            "a: must be an object, is an array of 2");
}

TEST(JsonCursor, ADocumentWithANameHasItBeforeThePlace) {
  const auto read = [](const JsonCursor& at) { (void)at["a"].boolean(); };
  EXPECT_EQ(message_of(R"({"a": 1})", read, "config.json"),
            "config.json: a: must be true or false, is 1");
  EXPECT_EQ(message_of("[]", read, "config.json"),
            "config.json: must be an object, is an empty array");
}

TEST(JsonCursor, TheFirstErrorStaysAndWhatIsReadAfterItIsEmpty) {
  const Json json = parse_json(R"({"a": "x", "b": 3})").value();
  Status status;
  const JsonCursor root(json, status);
  EXPECT_EQ(root["a"].integer(5, 9), 5);
  EXPECT_EQ(root["missing"]["deeper"].element(3).string(), "");
  EXPECT_TRUE(root["missing"].elements().empty());
  EXPECT_FALSE(root["missing"].is_null());
  EXPECT_EQ(root["b"].integer(), 3);
  root["b"].fail(Error{ErrorCode::kUnsupported, "later"});
  EXPECT_EQ(status.error().message, "a: must be an integer, is \"x\"");
  EXPECT_EQ(status.error().code, ErrorCode::kArtifact);
}

TEST(JsonCursor, AnIdHas32Bits) {
  const auto read = [](const JsonCursor& at) { EXPECT_LE(at.id(), 4294967295U); };
  EXPECT_EQ(message_of("4294967295", read), "(no error)");
  EXPECT_EQ(message_of("4294967296", read), "is 4294967296; the largest allowed is 4294967295");
  EXPECT_EQ(message_of("-1", read), "is -1; the smallest allowed is 0");
}

}  // namespace
}  // namespace polystate
