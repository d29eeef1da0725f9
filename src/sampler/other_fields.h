#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::sampler {

// What becomes of a field that is not honoured.
enum class OtherField : std::uint8_t {
  kIgnored,  // it has no meaning here, and changes no token: accepted, but for impossible values
  kRefused,  // it would change the result: only null and what means the same are accepted
};

// The one declaration of a field of transformers' GenerationConfig that is not honoured.
struct OtherFieldRule {
  std::string_view name;
  OtherField kind;
  // The value that asks for nothing, besides null. An ignored field warns of every other one.
  std::variant<std::monostate, bool, double> neutral = std::monostate();
  bool any_is_neutral = false;  // it asks for nothing, whatever it is
  // For an ignored field some values of which are impossible: keeps what a runner must check, and
  // says why a value is impossible, or nothing. Null is a value, too.
  std::optional<std::string> (*read)(const Json& value, GenerationConfig& config) = nullptr;
};

std::span<const OtherFieldRule> other_fields();

// Whether a value of the field asks for nothing.
bool is_neutral(const OtherFieldRule& rule, const Json& value);

}  // namespace polystate::sampler
