#include "grammar/schema_definitions.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/text_pattern.h"

namespace polystate::grammar {
namespace {

std::string name_of(std::size_t index) { return "d" + std::to_string(index); }

}  // namespace

ValueLevel level_inside(ValueLevel level) {
  switch (level) {
    case ValueLevel::kArguments:
      return ValueLevel::kArgument;
    case ValueLevel::kArgument:
      return ValueLevel::kJson;
    default:
      return level;
  }
}

TextForm form_at(ValueLevel level) {
  if (level == ValueLevel::kEither) return TextForm::kEither;
  return level == ValueLevel::kJson ? TextForm::kJson : TextForm::kPlain;
}

std::size_t SchemaDefinitions::index_of(const Json& schema, ValueLevel level,
                                        const std::string& path) {
  const auto [found, is_new] = indices_.try_emplace({&schema, level}, all_.size());
  if (is_new) all_.push_back({path, &schema, level});
  return found->second;
}

std::string SchemaDefinitions::reference_to(std::size_t index) {
  return index == 0 ? std::string("#") : "#/$defs/" + name_of(index);
}

// Takes away those whose values are only of others that have been taken away: a circle stays.
const SchemaDefinition* SchemaDefinitions::circle() const {
  std::vector<std::vector<std::size_t>> led_from(all_.size());
  std::vector<std::size_t> left(all_.size());
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    left[i] = all_[i].leads_to.size();
    for (const std::size_t other : all_[i].leads_to) led_from[other].push_back(i);
    if (left[i] == 0) ready.push_back(i);
  }
  std::size_t taken = 0;
  for (; taken < ready.size(); ++taken) {
    for (const std::size_t other : led_from[ready[taken]]) {
      if (--left[other] == 0) ready.push_back(other);
    }
  }
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (left[i] > 0) return &all_[i];
  }
  return nullptr;
}

nlohmann::ordered_json SchemaDefinitions::joined(std::vector<nlohmann::ordered_json> contents) {
  nlohmann::ordered_json whole = std::move(contents.front());
  if (contents.size() == 1) return whole;
  nlohmann::ordered_json others = nlohmann::ordered_json::object();
  for (std::size_t i = 1; i < contents.size(); ++i)
    append_member(others, name_of(i), std::move(contents[i]));
  whole["$defs"] = std::move(others);
  return whole;
}

}  // namespace polystate::grammar
