#include "chat_template/json_value.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"

namespace polystate::chat_template {
namespace {

struct Visitor {
  Value operator()(std::nullptr_t /*null*/) const { return {}; }
  Value operator()(bool value) const { return Value::boolean(value, origin); }
  Value operator()(std::int64_t value) const { return Value::integer(value, origin); }
  Value operator()(std::uint64_t value) const {
    return Value::real(static_cast<double>(value), origin);
  }
  Value operator()(double value) const { return Value::real(value, origin); }
  Value operator()(const std::string& value) const { return Value::string(value, origin); }
  Value operator()(const Json::Array& array) const {
    Elements elements;
    for (const Json& element : array) elements.push_back(value_of(element, origin));
    return Value::list(std::move(elements));
  }
  Value operator()(const Json::Object& object) const {
    Dict dict;
    for (const JsonMember& member : object)
      dict.set(Value::string(member.name, origin), value_of(member.value, origin));
    return Value::dict(std::move(dict));
  }

  Origin origin;
};

}  // namespace

Value value_of(const Json& json, Origin origin) { return std::visit(Visitor{origin}, json.value); }

}  // namespace polystate::chat_template
