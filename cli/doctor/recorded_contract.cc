#include "cli/doctor/recorded_contract.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

using nlohmann::json;

Error damaged() {
  return {ErrorCode::kArtifact, "the contract that was recorded at export cannot be read"};
}

Error mismatch(const std::string& name, const json& manifest, const json& recorded) {
  return {ErrorCode::kArtifact, name + ": manifest.json says " + manifest.dump() +
                                    ", and the program was made for " + recorded.dump()};
}

// The first element that differs, as "symbols 0 'rows'"; the whole where there are more of one.
Status compare_lists(const std::string& name, const json& manifest, const json& recorded) {
  if (manifest == recorded) return {};
  if (!manifest.is_array() || manifest.size() != recorded.size())
    return mismatch(name, manifest, recorded);
  std::size_t i = 0;
  while (manifest[i] == recorded[i]) ++i;
  const json& element = recorded[i];
  const bool is_named = element.is_object() && element.contains("name");
  return mismatch(
      name + " " + std::to_string(i) + (is_named ? " " + element["name"].dump() : std::string()),
      manifest[i], element);
}

}  // namespace

Status check_recorded_contract(std::string_view manifest, std::string_view recorded) {
  if (!parse_json(recorded)) return damaged();  // or it is nested too deeply
  const json contract = json::parse(recorded, nullptr, false);
  const json methods = json::parse(manifest, nullptr, false)["methods"];  // which was validated
  if (!contract.is_array()) return damaged();
  for (const json& method : contract) {
    if (!method.is_object() || !method.value("name", json()).is_string()) return damaged();
    const auto same_name = [&](const json& each) { return each["name"] == method["name"]; };
    const auto found = std::ranges::find_if(methods, same_name);
    const std::string label = "method " + method["name"].dump();
    if (found == methods.end()) {
      return Error{ErrorCode::kArtifact, label + " is in the program, but not in manifest.json"};
    }
    for (const auto& [field, value] : method.items()) {
      if (field == "name") continue;
      const std::string name = std::string(label).append(", ").append(field);
      if (Status same = compare_lists(name, found->value(field, json()), value); !same) return same;
    }
  }
  return {};
}

}  // namespace polystate::cli
