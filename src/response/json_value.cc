#include "response/json_value.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace

Result<Value> parse_value(std::string_view document, Origin origin) {
  JsonLimits limits;
  limits.max_depth = kMaxDepth;
  limits.names_may_repeat = true;
  limits.rounds_large_integers = true;
  const Result<Json> json = parse_json(document, limits);
  if (!json) return Error{ErrorCode::kContract, json.error().message};
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
