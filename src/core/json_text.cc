#include "core/json_text.h"

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <variant>

#include "core/json.h"

namespace polystate {
namespace {

using Written = nlohmann::ordered_json;

Written written(const Json& json) {
  return std::visit(
      [](const auto& value) -> Written {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Json::Array>) {
          Written array = Written::array();
          for (const Json& element : value) array.push_back(written(element));
          return array;
        } else if constexpr (std::is_same_v<T, Json::Object>) {
          Written object = Written::object();
          for (const JsonMember& member : value) object[member.name] = written(member.value);
          return object;
        } else {
          return value;
        }
      },
      json.value);
}

}  // namespace

std::string json_text(const Json& json) { return written(json).dump(); }

}  // namespace polystate
