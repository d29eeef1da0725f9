#include "response/json_value.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "chat_template/json_value.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Value;

constexpr std::size_t kMaxDepth = 250;  // messages have some more around it

// Whether an integer in it has more than 64 bits with its sign, which values have not.
bool has_too_large(const Json& json) {
  if (std::holds_alternative<std::uint64_t>(json.value)) return true;
  if (const Json::Array* const array = json.array())
    return std::ranges::any_of(*array, has_too_large);
  const Json::Object* const object = json.object();
  return object != nullptr &&
         std::any_of(object->begin(), object->end(),
                     [](const JsonMember& member) { return has_too_large(member.value); });
}

}  // namespace

Result<Value> parse_value(std::string_view document, Origin origin) {
  JsonLimits limits;
  limits.max_depth = kMaxDepth;
  limits.names_may_repeat = true;
  const Result<Json> json = parse_json(document, limits);
  if (!json) return Error{ErrorCode::kContract, json.error().message};
  if (has_too_large(*json)) return Error{ErrorCode::kContract, "an integer has over 64 bits"};
  return value_of(*json, origin);
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Value with_origin(const Value& value, Origin origin) {
  switch (value.kind()) {
    case Value::Kind::kBoolean:
      return Value::boolean(value.as_boolean(), origin);
    case Value::Kind::kInteger:
      return Value::integer(value.as_integer(), origin);
    case Value::Kind::kReal:
      return Value::real(value.as_real(), origin);
    case Value::Kind::kString:
      return Value::string(value.bytes(), origin);
    case Value::Kind::kList:
    case Value::Kind::kTuple: {
      Elements elements;
      for (const Value& element : value.elements())
        elements.push_back(with_origin(element, origin));
      return Value::list(std::move(elements));
    }
    case Value::Kind::kDict: {
      Dict dict;
      for (const auto& [key, item] : value.dict().entries())
        dict.set(with_origin(key, origin), with_origin(item, origin));
      return Value::dict(std::move(dict));
    }
    default:
      return value;
  }
}

}  // namespace polystate::response
