#include "pipeline/argument_format.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/tag_format.h"
#include "polystate/core/result.h"
#include "polystate/grammar/grammar_compiler.h"
#include "response/forms.h"

namespace polystate {
namespace {

using OrderedJson = nlohmann::ordered_json;
using response::WrittenCall;
using tag_format::literal;
using tag_format::one_of;
using tag_format::optional;
using tag_format::repeated;
using tag_format::sequence;

// The most white space between the parts of arguments, of which a model might never stop.
constexpr int kMaxSpace = 1;
constexpr std::array<std::string_view, 10> kAnnotations = {
    "title",      "description", "default",   "examples", "example",
    "deprecated", "readOnly",    "writeOnly", "$schema",  "$comment"};

// transformers writes `nullable` where a schema has null among its types.
void take_nullable(OrderedJson& schema) {
  if (schema.is_object() && schema.contains("nullable")) {
    const bool is_nullable = schema["nullable"] == true;
    schema.erase("nullable");
    if (is_nullable && schema.contains("type") && schema["type"].is_string())
      schema["type"] = OrderedJson::array({schema["type"], "null"});
  }
  if (!schema.is_structured()) return;
  for (OrderedJson& each : schema) take_nullable(each);
}

OrderedJson schema_of(const OrderedJson& function) {
  OrderedJson schema = function.value("parameters", OrderedJson());
  if (schema.is_null()) schema = {{"type", "object"}, {"properties", OrderedJson::object()}};
  if (!schema.contains("type")) schema["type"] = "object";
  // Without names, an object has none.
  if (!schema.contains("properties") && !schema.contains("additionalProperties"))
    schema["additionalProperties"] = false;
  take_nullable(schema);
  return schema;
}

// Values of a schema in a style of xgrammar's, in which texts have none of `excluded`.
std::string json_format(const OrderedJson& schema, std::string_view style,
                        const OrderedJson& excluded) {
  const OrderedJson format = {{"type", "json_schema"},
                              {"json_schema", schema},
                              {"style", style},
                              {"excludes", excluded},
                              {"max_whitespace_cnt", kMaxSpace}};
  return format.dump();
}

// How a form writes values that xgrammar has no style for.
struct Notation {
  std::string_view form;
  std::string_view text_open;
  std::string_view text_close;
  // The characters of a text that has no other form, as a regular expression.
  std::string_view characters;
  // What a text in which all characters may be stands between.
  std::string_view free_open;
  std::string_view free_close;
  bool has_tags;  // a tag for each argument, whose value is JSON unless it is a text
};
constexpr Notation kDialect = {.form = "call:name",
                               .text_open = R"(<|"|>)",
                               .text_close = R"(<|"|>)",
                               .characters = R"([^<\u0000-\u001f])",
                               .free_open = R"(<|"|>)",
                               .free_close = R"(<|"|>)",
                               .has_tags = false};
constexpr Notation kTags = {.form = "function tag with parameters",
                            .text_open = "",
                            .text_close = "",
                            .characters = R"([^<&\u0000-\u001f])",
                            .free_open = "<![CDATA[",
                            .free_close = "]]>",
                            .has_tags = true};

// Makes the format of a schema's values in a notation. The first error stays.
class Writer {
 public:
  // `end`: what no text may have, because it ends a call.
  Writer(const Notation& notation, std::string_view end) : notation_(notation), end_(end) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  std::string arguments(const OrderedJson& schema) {
    if (!notation_.has_tags) return object(schema);
    check_words(schema, {"type", "properties", "required", "additionalProperties"});
    check_closed(schema);
    std::vector<std::string> tags;
    for (const auto& [name, property] : properties_of(schema)) {
      check_name(name, "\"<>");
      const std::string tag = sequence(
          {literal("<param name=\"" + name + "\">"), value(property), literal("</param>")});
      tags.push_back(is_required(schema, name) ? tag : optional(tag));
    }
    return tags.empty() ? literal("") : sequence(tags);
  }

 private:
  using Properties = std::vector<std::pair<std::string, OrderedJson>>;

  std::string refuse(std::string_view what) {
    if (!error_) {
      error_ = Error{ErrorCode::kUnsupported,
                     std::string(what).append(" cannot be followed in calls of the form '") +
                         std::string(notation_.form) + "'"};
    }
    return literal("");
  }

  void check_words(const OrderedJson& schema, std::initializer_list<std::string_view> known) {
    for (const auto& [word, content] : schema.items()) {
      const bool is_known = std::ranges::find(known, word) != known.end() ||
                            std::ranges::find(kAnnotations, word) != kAnnotations.end();
      if (!is_known) refuse("a schema's '" + word + "'");
    }
  }

  void check_name(const std::string& name, std::string_view never) {
    const bool is_plain = !name.empty() && std::ranges::none_of(name, [&](char c) {
      return static_cast<unsigned char>(c) < ' ' || never.find(c) != std::string_view::npos;
    });
    if (!is_plain) refuse("an argument's name '" + name + "'");
  }

  void check_closed(const OrderedJson& schema) {
    if (schema.contains("additionalProperties") && schema["additionalProperties"] != false)
      refuse("a schema's 'additionalProperties'");
  }

  // How many characters or elements a word asks for.
  int count(const OrderedJson& schema, const char* word, int otherwise) {
    if (!schema.contains(word)) return otherwise;
    constexpr std::uint64_t kMost = 1'000'000;
    const OrderedJson& given = schema[word];
    if (given.is_number_unsigned() && given.get<std::uint64_t>() <= kMost) return given.get<int>();
    refuse("'" + std::string(word) + "': " + given.dump());
    return otherwise;
  }

  static bool is_required(const OrderedJson& schema, const std::string& name) {
    const OrderedJson required = schema.value("required", OrderedJson::array());
    return std::ranges::find(required, OrderedJson(name)) != required.end();
  }

  static Properties properties_of(const OrderedJson& schema) {
    Properties properties;
    const OrderedJson given = schema.value("properties", OrderedJson::object());
    for (const auto& [name, property] : given.items()) properties.emplace_back(name, property);
    return properties;
  }

  std::string value(const OrderedJson& schema) {
    if (!schema.is_object()) return refuse("a schema that is no object");
    for (const char* const word : {"const", "enum"}) {
      if (!schema.contains(word)) continue;
      check_words(schema, {"type", word});
      const bool is_list = word == std::string_view("enum");
      return any_of(is_list ? schema[word] : OrderedJson::array({schema[word]}),
                    [this](const OrderedJson& each) { return constant(each); });
    }
    if (schema.contains("anyOf")) {
      check_words(schema, {"anyOf"});
      return any_of(schema["anyOf"], [this](const OrderedJson& each) { return value(each); });
    }
    const OrderedJson type = schema.value("type", OrderedJson());
    if (type.is_array()) {
      return any_of(type, [&](const OrderedJson& each) {
        OrderedJson one = schema;
        one["type"] = each;
        return value(one);
      });
    }
    if (type == "string") return text(schema);
    if (!notation_.has_tags && type == "array") return array(schema);
    if (!notation_.has_tags && type == "object") return object(schema);
    if (!type.is_string()) return refuse("a schema without 'type'");
    return json(schema);
  }

  template <typename Each>
  std::string any_of(const OrderedJson& list, Each each) {
    std::vector<std::string> choices;
    for (const OrderedJson& one : list) choices.push_back(each(one));
    return one_of(choices);
  }

  std::string json(const OrderedJson& schema) {
    return json_format(schema, "json", OrderedJson::array({end_}));
  }

  std::string constant(const OrderedJson& given) {
    if (given.is_structured()) return refuse("a constant that is a list or an object");
    if (!given.is_string()) return literal(given.dump());
    const std::string& of_text = given.get_ref<const std::string&>();
    const std::string_view never = notation_.has_tags ? "<&" : "<";
    if (of_text.find_first_of(never) != std::string::npos) return refuse("a constant with '<'");
    return literal(std::string(notation_.text_open) + of_text + std::string(notation_.text_close));
  }

  std::string text(const OrderedJson& schema) {
    check_words(schema, {"type", "minLength", "maxLength"});
    const int least = count(schema, "minLength", 0);
    const int most = count(schema, "maxLength", -1);
    const std::string range =
        "{" + std::to_string(least) + "," + (most < 0 ? "" : std::to_string(most)) + "}";
    std::string limited = sequence({literal(notation_.text_open),
                                    tag_format::regex(std::string(notation_.characters) + range),
                                    literal(notation_.text_close)});
    if (least > 0 || most >= 0) return limited;
    // The reader keeps the characters 1 and 2 for itself.
    const std::string whole = sequence(
        {literal(notation_.free_open),
         tag_format::text_without({notation_.free_close, end_, GrammarCompiler::kUnread, "\x02"}),
         literal(notation_.free_close)});
    return notation_.has_tags ? one_of({limited, whole}) : whole;
  }

  std::string array(const OrderedJson& schema) {
    check_words(schema, {"type", "items", "minItems", "maxItems"});
    if (!schema.contains("items")) return refuse("an array without 'items'");
    const std::string item = value(schema["items"]);
    const int least = count(schema, "minItems", 0);
    const int most = count(schema, "maxItems", -1);
    if (most == 0) return literal("[]");
    const std::string others =
        repeated(sequence({literal(","), item}), std::max(least - 1, 0), most < 0 ? -1 : most - 1);
    const std::string items = sequence({item, others});
    return sequence({literal("["), least > 0 ? items : optional(items), literal("]")});
  }

  std::string object(const OrderedJson& schema) {
    check_words(schema, {"type", "properties", "required", "additionalProperties"});
    check_closed(schema);
    Properties properties = properties_of(schema);
    // As templates write them, so that a call need not be encoded again.
    const auto lowered = [](const auto& property) {
      std::string name = property.first;
      std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      });
      return name;
    };
    std::ranges::stable_sort(properties, {}, lowered);
    // From the last on: what may come where a property came before, and where none did.
    std::vector<std::string> after_some = {literal("}")};
    std::string after_none = literal("}");
    for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
      check_name(property->first, " !\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~");
      const std::string item = sequence({literal(property->first + ":"), value(property->second)});
      std::vector<std::string> first = {item};
      first.insert(first.end(), after_some.begin(), after_some.end());
      const bool must = is_required(schema, property->first);
      after_none = must ? sequence(first) : one_of({sequence(first), after_none});
      const std::string next = sequence({literal(","), item});
      after_some.insert(after_some.begin(), must ? next : optional(next));
    }
    return sequence({literal("{"), after_none});
  }

  const Notation& notation_;
  std::string_view end_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::string> argument_format(std::string_view function, const WrittenCall& written) {
  const OrderedJson schema =
      schema_of(OrderedJson::parse(function, nullptr, /*allow_exceptions=*/false));
  if (written.style == "dialect" || written.style == "param_xml") {
    Writer writer(written.style == "dialect" ? kDialect : kTags, written.end);
    std::string format = writer.arguments(schema);
    if (writer.error()) return *writer.error();
    return format;
  }
  OrderedJson excluded = OrderedJson::array();
  if (!written.end.empty()) excluded.push_back(written.end);
  if (written.style != "json") excluded.push_back(GrammarCompiler::kUnread);
  return json_format(schema, written.style, excluded);
}

}  // namespace polystate
