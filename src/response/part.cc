#include "response/part.h"

#include <utility>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "response/template.h"
#include "response/transform.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Value;

Result<Value> transformed_each(const Value& transform, const Value& value, const Dict& scope) {
  if (value.kind() != Value::Kind::kList)
    return Error{ErrorCode::kContract, "it must be a list, is a " + value.type_name()};
  Elements elements;
  for (const Value& element : value.elements()) {
    if (element.kind() != Value::Kind::kDict) {
      return Error{ErrorCode::kContract,
                   "each element must be an object, one is a " + element.type_name()};
    }
    Dict each = scope;
    for (const auto& [key, item] : element.dict().entries()) each.set(key, item);
    Result<Value> made = transformed(transform, each);
    if (!made) return made;
    elements.push_back(*std::move(made));
  }
  return Value::list(std::move(elements));
}

}  // namespace

Result<Value> value_of_part(const Field& field, const Part& part, Origin origin) {
  Result<Value> value = field.content.parse(part.text, origin);
  if (value && field.transform) {
    Dict scope;
    for (const auto& [name, text] : part.captures)
      scope.set(Value::string(name), Value::string(text, origin));
    if (!field.transform_each) scope.set(Value::string("content"), *value);
    value = field.transform_each ? transformed_each(*field.transform, *value, scope)
                                 : transformed(*field.transform, scope);
  }
  if (value && value->depth() > TemplateValue::kMaxDepth)
    return Error{ErrorCode::kContract, "values are too deep in one another"};
  return value;
}

}  // namespace polystate::response
