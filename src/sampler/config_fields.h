#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::sampler {

// Of a configuration, and of the value of a field.
inline constexpr JsonLimits kConfigLimits = {
    .max_depth = 16, .names_may_repeat = true, .rounds_large_integers = true};

using TokenBias = std::pair<std::vector<TokenId>, double>;

// A member of a GenerationConfig, of any of the types that there are.
using ConfigMember = std::variant<
    bool GenerationConfig::*, EarlyStopping GenerationConfig::*, ContextPolicy GenerationConfig::*,
    std::int64_t GenerationConfig::*, std::optional<std::int64_t> GenerationConfig::*,
    std::optional<std::uint64_t> GenerationConfig::*, double GenerationConfig::*,
    std::optional<double> GenerationConfig::*, std::optional<TokenId> GenerationConfig::*,
    std::vector<std::string> GenerationConfig::*, std::vector<TokenId> GenerationConfig::*,
    std::vector<std::vector<TokenId>> GenerationConfig::*,
    std::vector<TokenBias> GenerationConfig::*,
    std::optional<std::pair<std::int64_t, double>> GenerationConfig::*>;

// What a number may be. Whole numbers have at most 31 bits, so that lengths can be added.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;         // `low` itself is out of the range
  bool minus_one_is_low = false;  // -1 is read as `low`: it stands for none in some files
};

// What a list of tokens, or a token, may be.
struct TokenForm {
  bool one_or_list = false;       // 2 is read as [2]
  bool negative_is_none = false;  // -1 is left out: it stands for no token in some files
  bool list_of_one = false;       // [2] is read as 2
};

// The one declaration of a field that is honoured.
struct ConfigField {
  std::string_view name;
  ConfigMember member;
  NumberRange range = {};
  TokenForm tokens = {};
};

// All of them, in the order of GenerationConfig.
std::span<const ConfigField> config_fields();

// Why a value is refused: "it must be ..., and is ...".
using Refusal = std::optional<std::string>;

// Gives a config the value of one field, where null is the default. A refused value changes
// nothing.
Refusal read_field(const ConfigField& field, const Json& value, GenerationConfig& config);

// Whether the field's numbers are in its range, however they got there.
Refusal check_field(const ConfigField& field, const GenerationConfig& config);

}  // namespace polystate::sampler
