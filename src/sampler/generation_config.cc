#include "polystate/sampler/generation_config.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "sampler/config_fields.h"
#include "sampler/other_fields.h"

namespace polystate {
namespace {

using sampler::ConfigField;
using sampler::OtherField;
using sampler::OtherFieldRule;

template <typename Field>
const Field* find(std::span<const Field> fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [name](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Error field_error(ErrorCode code, std::string_view name, const std::string& why) {
  return {code, "'" + std::string(name) + "': " + why};
}

// The least number of characters to insert, delete or replace to turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// "; did you mean 'num_beams'?", where a known name is like an unknown one, of which only the first
// bytes count.
std::string suggestion(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  name = name.substr(0, kLongest);
  std::vector<std::string_view> names = GenerationConfig::names();
  for (const OtherFieldRule& rule : sampler::other_fields()) names.push_back(rule.name);
  const std::string_view nearest =
      *std::min_element(names.begin(), names.end(), [name](auto one, auto other) {
        return edit_distance(name, one) < edit_distance(name, other);
      });
  if (2 * edit_distance(name, nearest) > nearest.size()) return {};
  return "; did you mean '" + std::string(nearest) + "'?";
}

// What is done with one field: an error (`refused` where a value has the wrong form), or whether
// it had no effect although it asks for something, and why.
struct FieldResult {
  std::optional<Error> error = std::nullopt;
  std::string warning = {};
};

FieldResult apply_field(std::string_view name, const Json& value, ErrorCode refused,
                        GenerationConfig& config) {
  if (const ConfigField* const field = find(sampler::config_fields(), name)) {
    if (const auto why = sampler::read_field(*field, value, config))
      return {.error = field_error(refused, name, *why)};
    return {};
  }
  const OtherFieldRule* const rule = find(sampler::other_fields(), name);
  if (rule == nullptr) return {.warning = "it is not a field that is known"};
  if (rule->read != nullptr) {
    if (const auto why = rule->read(value, config))
      return {.error = field_error(refused, name, *why)};
  }
  if (sampler::is_neutral(*rule, value)) return {};
  if (rule->kind == OtherField::kRefused) {
    return {.error =
                field_error(ErrorCode::kUnsupported, name, described(value) + " is not supported")};
  }
  return {.warning = described(value) + " has no effect here"};
}

Error contract_error(std::string_view name, const std::string& why) {
  return field_error(ErrorCode::kContract, name, why);
}

Status check_return_sequences(const GenerationConfig& config) {
  if (config.num_beams > 1 && config.num_return_sequences > config.num_beams) {
    return contract_error("num_return_sequences",
                          "it is " + std::to_string(config.num_return_sequences) +
                              ", and num_beams is " + std::to_string(config.num_beams));
  }
  if (config.num_beams == 1 && !config.do_sample && config.num_return_sequences > 1) {
    return contract_error("num_return_sequences",
                          "it is " + std::to_string(config.num_return_sequences) +
                              ", and there is one sequence without num_beams or do_sample");
  }
  return {};
}

// Where every forced token is suppressed too, none is left.
Status check_forced(std::string_view name, std::span<const TokenId> forced,
                    const std::vector<TokenId>& suppressed) {
  const auto is_suppressed = [&](TokenId token) {
    return std::find(suppressed.begin(), suppressed.end(), token) != suppressed.end();
  };
  if (forced.empty() || !std::all_of(forced.begin(), forced.end(), is_suppressed)) return {};
  return contract_error(name, "suppress_tokens has every token of it");
}

void add_warning(std::string_view name, const FieldResult& result,
                 std::vector<std::string>* warnings) {
  if (warnings == nullptr || result.warning.empty()) return;
  warnings->push_back("'" + std::string(name) + "': " + result.warning);
}

}  // namespace

Result<GenerationConfig> GenerationConfig::parse(std::string_view json,
                                                 std::vector<std::string>* warnings) {
  const Result<Json> value = parse_json(json, sampler::kConfigLimits);
  if (!value) return value.error();
  const Json::Object* const object = value->object();
  if (object == nullptr) {
    return Error{ErrorCode::kArtifact, "it must be an object, and is " + described(*value)};
  }
  GenerationConfig config;
  for (const auto& [name, content] : *object) {
    FieldResult result = apply_field(name, content, ErrorCode::kArtifact, config);
    if (result.error) return std::move(*result.error);
    add_warning(name, result, warnings);
  }
  return config;
}

Status GenerationConfig::set(std::string_view name, std::string_view json,
                             std::vector<std::string>* warnings) {
  if (find(sampler::config_fields(), name) == nullptr &&
      find(sampler::other_fields(), name) == nullptr) {
    return contract_error(name, "there is no such field" + suggestion(name));
  }
  const Result<Json> value = parse_json(json, sampler::kConfigLimits);
  if (!value) return contract_error(name, value.error().message);
  FieldResult result = apply_field(name, *value, ErrorCode::kContract, *this);
  if (result.error) return std::move(*result.error);
  add_warning(name, result, warnings);
  return {};
}

std::vector<std::string_view> GenerationConfig::names() {
  std::vector<std::string_view> names;
  for (const ConfigField& field : sampler::config_fields()) names.push_back(field.name);
  return names;
}

Status GenerationConfig::validate() const {
  for (const ConfigField& field : sampler::config_fields()) {
    if (const auto why = sampler::check_field(field, *this))
      return contract_error(field.name, *why);
  }
  if (do_sample && static_cast<float>(temperature) == 0.0F) {  // what scores are divided by
    return contract_error("temperature",
                          "it must be above 0 with do_sample; without, the most probable token is "
                          "chosen");
  }
  if (max_new_tokens == 0 && !prompt_logprobs)
    return contract_error("max_new_tokens", "it must be at least 1 without prompt_logprobs");
  if (exponential_decay_length_penalty && eos_token_id.empty())
    return contract_error("exponential_decay_length_penalty", "there is no eos_token_id");
  if (auto status = check_return_sequences(*this); !status) return status;
  if (forced_bos_token_id) {
    if (auto status =
            check_forced("forced_bos_token_id", {&*forced_bos_token_id, 1}, suppress_tokens);
        !status)
      return status;
  }
  return check_forced("forced_eos_token_id", forced_eos_token_id, suppress_tokens);
}

}  // namespace polystate
