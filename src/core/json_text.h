#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/json.h"

namespace polystate {

// The same value of nlohmann's, with its members in their order.
nlohmann::ordered_json ordered_json_of(const Json& json);

// Adds a member whose name the object does not have: `object[name]` would look for it among all.
void append_member(nlohmann::ordered_json& object, const std::string& name,
                   nlohmann::ordered_json value);

// A value as JSON, with its members in their order.
std::string json_text(const Json& json);

}  // namespace polystate
