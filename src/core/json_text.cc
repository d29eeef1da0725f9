#include "core/json_text.h"

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/json.h"

namespace polystate {

void append_member(nlohmann::ordered_json& object, const std::string& name,
                   nlohmann::ordered_json value) {
  object.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(name, std::move(value));
}

nlohmann::ordered_json ordered_json_of(const Json& json) {
  using Ordered = nlohmann::ordered_json;
  return std::visit(
      [](const auto& value) -> Ordered {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Json::Array>) {
          Ordered array = Ordered::array();
          for (const Json& element : value) array.push_back(ordered_json_of(element));
          return array;
        } else if constexpr (std::is_same_v<T, Json::Object>) {
          Ordered object = Ordered::object();
          for (const JsonMember& member : value)
            append_member(object, member.name, ordered_json_of(member.value));
          return object;
        } else {
          return value;
        }
      },
      json.value);
}

std::string json_text(const Json& json) { return ordered_json_of(json).dump(); }

}  // namespace polystate
