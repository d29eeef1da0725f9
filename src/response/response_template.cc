#include "polystate/response/response_template.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat_template/json_value.h"
#include "chat_template/python_text.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"
#include "polystate/core/result.h"
#include "response/anchor.h"
#include "response/content_parser.h"
#include "response/template.h"
#include "response/transform.h"
#include "tokenizer/regex/regex.h"

namespace polystate {
namespace response {
namespace {

using chat_template::Origin;
using chat_template::Value;

constexpr std::string_view kDocument = "response_template";

Error refused(std::string_view scope, const std::string& message) {
  return {ErrorCode::kContract, std::string(scope) + ": " + message};
}

Error within(std::string_view scope, const Error& error) {
  return {error.code == ErrorCode::kUnsupported ? error.code : ErrorCode::kContract,
          std::string(scope) + ": " + error.message};
}

Status check_names(std::string_view scope, const Json::Object& object,
                   std::initializer_list<std::string_view> known) {
  for (const JsonMember& member : object) {
    if (std::ranges::find(known, member.name) == known.end())
      return refused(scope, "there is no key " + chat_template::quoted(member.name));
  }
  return {};
}

// An expression that begins with \s* as one that matches the same, but looks at white space once,
// not again from each place in it.
std::string looking_once(const std::string& expression) {
  constexpr std::string_view kSpace = R"(\s*)";
  const std::string_view rest =
      std::string_view(expression).substr(std::min(kSpace.size(), expression.size()));
  const bool is_repeated = !rest.empty() && std::string_view("?+*{").find(rest[0]) != rest.npos;
  if (!expression.starts_with(kSpace) || is_repeated) return expression;
  return R"((?:(?:(?<!\s)|\G)\s+)?)" + std::string(rest);
}

// Reads one object of the template; the first error stays, and what is read then is of no use.
class ObjectReader {
 public:
  ObjectReader(std::string scope, const Json::Object& object, std::vector<std::string>& texts)
      : scope_(std::move(scope)), object_(object), texts_(texts) {}

  [[nodiscard]] const Status& status() const { return status_; }

  bool boolean(std::string_view name, bool otherwise) {
    const Json* const found = object_.find(name);
    if (found == nullptr) return otherwise;
    if (const auto* const value = std::get_if<bool>(&found->value)) return *value;
    fail(std::string(name) + " must be true or false, is " + described(*found));
    return otherwise;
  }

  std::optional<std::string> string(std::string_view name) {
    const Json* const found = object_.find(name);
    if (found == nullptr || found->is_null()) return std::nullopt;
    if (const auto* const value = std::get_if<std::string>(&found->value)) return *value;
    fail(std::string(name) + " must be a string, is " + described(*found));
    return std::nullopt;
  }

  // What `literal` or `pattern` says, of which one may be there.
  std::optional<Anchor> anchor(std::string_view literal, std::string_view pattern) {
    const Json* const literals = object_.find(literal);
    const std::optional<std::string> expression = string(pattern);
    if (literals != nullptr && expression) {
      fail("both '" + std::string(literal) + "' and '" + std::string(pattern) + "' are there");
      return std::nullopt;
    }
    if (literals != nullptr) return literal_anchor(*literals, literal);
    if (!expression) return std::nullopt;
    auto regex =
        tokenizer::Regex::compile(looking_once(*expression), tokenizer::RegexSyntax::kPython);
    if (!regex) {
      if (status_) status_ = within(scope_, regex.error());
      return std::nullopt;
    }
    std::string text = *expression;
    std::erase(text, '\\');
    texts_.push_back(std::move(text));
    return Anchor(*std::move(regex));
  }

  void fail(const std::string& message) {
    if (status_) status_ = refused(scope_, message);
  }
  void fail(const Error& error) {
    if (status_) status_ = within(scope_, error);
  }

 private:
  std::optional<Anchor> literal_anchor(const Json& json, std::string_view name) {
    std::vector<std::string> texts;
    const auto add = [&](const Json& each) {
      const auto* const text = std::get_if<std::string>(&each.value);
      if (text == nullptr || text->empty()) {
        fail(std::string(name) + " must be a text that is not empty, or several, is " +
             described(each));
        return;
      }
      if (std::ranges::find(texts, *text) == texts.end()) texts.push_back(*text);
    };
    if (const Json::Array* const array = json.array()) {
      std::ranges::for_each(*array, add);
    } else {
      add(json);
    }
    if (texts.empty()) fail(std::string(name) + " has no text");
    if (!status_) return std::nullopt;
    texts_.insert(texts_.end(), texts.begin(), texts.end());
    return Anchor(std::move(texts));
  }

  std::string scope_;
  const Json::Object& object_;
  std::vector<std::string>& texts_;
  Status status_;
};

// Names of groups reach the message by a transform alone.
Status check_groups(std::string_view scope, const Field& field) {
  if (field.transform) return check_transform(*field.transform);
  for (const std::optional<Anchor>* const anchor : {&field.open, &field.close}) {
    if (!*anchor || (*anchor)->group_names().empty()) continue;
    return refused(scope, "the group '" + (*anchor)->group_names().front() +
                              "' has a name, and there is no transform that takes it");
  }
  return {};
}

Result<Field> read_field(const std::string& name, const Json& json,
                         std::vector<std::string>& texts) {
  const std::string scope = std::string(kDocument) + ", field '" + name + "'";
  const Json::Object* const object = json.object();
  if (object == nullptr) return refused(scope, "must be an object, is " + described(json));
  if (const Status known =
          check_names(scope, *object,
                      {"open", "open_pattern", "close", "close_pattern", "content", "content_args",
                       "repeats", "join", "optional", "transform", "transform_each"});
      !known) {
    return known.error();
  }
  ObjectReader reader(scope, *object, texts);
  Result<ContentParser> content = ContentParser::create(reader.string("content").value_or("text"),
                                                        object->find("content_args"));
  if (!content) return within(scope, content.error());
  Field field{.name = name,
              .open = reader.anchor("open", "open_pattern"),
              .close = reader.anchor("close", "close_pattern"),
              .content = *std::move(content),
              .repeats = reader.boolean("repeats", false),
              .join = reader.string("join"),
              .is_optional = reader.boolean("optional", true),
              .transform = std::nullopt,
              .transform_each = reader.boolean("transform_each", false)};
  if (field.join && !field.repeats) reader.fail("'join' needs 'repeats'");
  const Json* const transform = object->find("transform");
  if (transform != nullptr && !transform->is_null())
    field.transform = value_of(*transform, Origin::kTemplate);
  if (field.transform_each && !field.transform) reader.fail("'transform_each' needs a 'transform'");
  if (!reader.status()) return reader.status().error();
  if (const Status checked = check_groups(scope, field); !checked)
    return within(scope, checked.error());
  return field;
}

Status check_version(const Json::Object& object) {
  const Json* const version = object.find("version");
  if (version == nullptr) return {};
  const auto* const number = std::get_if<std::int64_t>(&version->value);
  if (number != nullptr && *number == 1) return {};
  return refused(kDocument, "its version is " + described(*version) + ", and 1 is known");
}

Status read_fields(const Json::Object& fields, Template& result, std::vector<std::string>& texts) {
  for (const JsonMember& member : fields) {
    Result<Field> field = read_field(member.name, member.value, texts);
    if (!field) return field.error();
    if (!field->open) {
      if (result.implicit) {
        return refused(kDocument, "'" + result.fields[*result.implicit].name + "' and '" +
                                      member.name + "' have no opening: one field may have none");
      }
      result.implicit = result.fields.size();
    }
    result.fields.push_back(*std::move(field));
  }
  return {};
}

}  // namespace

Result<Template> read_template(const Json& json) {
  const Json::Object* const object = json.object();
  if (object == nullptr) return refused(kDocument, "must be an object, is " + described(json));
  if (const Status known =
          check_names(kDocument, *object,
                      {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"});
      !known) {
    return known.error();
  }
  if (const Status known = check_version(*object); !known) return known.error();
  std::vector<std::string> texts;
  ObjectReader reader(std::string(kDocument), *object, texts);
  std::optional<Anchor> start = reader.anchor("start_anchor", "start_anchor_pattern");
  const Json* const fields = object->find("fields");
  if (fields == nullptr || fields->object() == nullptr || fields->object()->empty())
    return refused(kDocument, "'fields' must be an object that is not empty");
  if (!reader.status()) return reader.status().error();
  if (!start)
    return refused(kDocument, "neither 'start_anchor' nor 'start_anchor_pattern' is there");
  Template result{.defaults = {},
                  .fields = {},
                  .implicit = std::nullopt,
                  .start_anchor = *std::move(start),
                  .texts = {}};
  if (const Json* const defaults = object->find("defaults")) {
    if (defaults->object() == nullptr)
      return refused(kDocument, "'defaults' must be an object, is " + described(*defaults));
    result.defaults = value_of(*defaults, Origin::kTemplate).dict();
  }
  if (const Status read = read_fields(*fields->object(), result, texts); !read) return read.error();
  result.texts = std::move(texts);
  return result;
}

}  // namespace response

Result<ResponseTemplate> ResponseTemplate::parse(std::string_view json) {
  JsonLimits limits;
  limits.names_may_repeat = true;
  const Result<Json> document = parse_json(json, limits);
  if (!document)
    return Error{ErrorCode::kContract, "response_template: " + document.error().message};
  Result<response::Template> content = response::read_template(*document);
  if (!content) return content.error();
  return ResponseTemplate(std::make_shared<const response::Template>(*std::move(content)));
}

}  // namespace polystate
