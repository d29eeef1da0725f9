#include "sampler/config_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::sampler {
namespace {

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int32_t>::max();

constexpr NumberRange kAny = {};
constexpr NumberRange kFromZero = {.low = 0};
constexpr NumberRange kFromZeroOrNone = {.low = 0, .minus_one_is_low = true};
constexpr NumberRange kFromOne = {.low = 1};
constexpr NumberRange kAboveZero = {.low = 0, .above_low = true};
constexpr NumberRange kSeconds = {.low = 0, .high = 1e9};
constexpr NumberRange kFraction = {.low = 0, .high = 1};
constexpr NumberRange kPenalty = {.low = -2, .high = 2};
constexpr NumberRange kFractionAboveZero = {.low = 0, .high = 1, .above_low = true};

constexpr TokenForm kSpecialToken = {.negative_is_none = true};
constexpr TokenForm kEndTokens = {.one_or_list = true, .negative_is_none = true};
constexpr TokenForm kForcedTokens = {.one_or_list = true};
// transformers takes a list with one for each row of a batch; here all rows have the same.
constexpr TokenForm kStartToken = {.list_of_one = true};

using Config = GenerationConfig;
constexpr auto kFields = std::to_array<ConfigField>({
    {"max_length", &Config::max_length, kFromOne},
    {"max_new_tokens", &Config::max_new_tokens, kFromZero},  // 0 with prompt_logprobs: validate
    {"min_length", &Config::min_length, kFromZero},
    {"min_new_tokens", &Config::min_new_tokens, kFromZero},
    {"context", &Config::context},
    {"keep_tokens", &Config::keep_tokens, kFromZero},
    {"max_time", &Config::max_time, kSeconds},
    {"stop_strings", &Config::stop_strings},
    {"do_sample", &Config::do_sample},
    {"num_beams", &Config::num_beams, kFromOne},
    {"num_return_sequences", &Config::num_return_sequences, kFromOne},
    {"early_stopping", &Config::early_stopping},
    {"length_penalty", &Config::length_penalty},
    {"temperature", &Config::temperature, kFromZero},  // with do_sample above it: validate
    {"top_k", &Config::top_k, kFromZeroOrNone},
    {"top_p", &Config::top_p, kFraction},
    {"min_p", &Config::min_p, kFraction},
    {"typical_p", &Config::typical_p, kFractionAboveZero},
    {"epsilon_cutoff", &Config::epsilon_cutoff, kFraction},
    {"eta_cutoff", &Config::eta_cutoff, kFraction},
    {"seed", &Config::seed},
    {"repetition_penalty", &Config::repetition_penalty, kAboveZero},
    {"encoder_repetition_penalty", &Config::encoder_repetition_penalty, kAboveZero},
    {"frequency_penalty", &Config::frequency_penalty, kPenalty},
    {"presence_penalty", &Config::presence_penalty, kPenalty},
    {"no_repeat_ngram_size", &Config::no_repeat_ngram_size, kFromZero},
    {"encoder_no_repeat_ngram_size", &Config::encoder_no_repeat_ngram_size, kFromZero},
    {"bad_words_ids", &Config::bad_words_ids},
    {"sequence_bias", &Config::sequence_bias},
    {"suppress_tokens", &Config::suppress_tokens, kAny, kSpecialToken},
    {"begin_suppress_tokens", &Config::begin_suppress_tokens, kAny, kSpecialToken},
    {"forced_bos_token_id", &Config::forced_bos_token_id},
    {"forced_eos_token_id", &Config::forced_eos_token_id, kAny, kForcedTokens},
    {"exponential_decay_length_penalty", &Config::exponential_decay_length_penalty},
    {"remove_invalid_values", &Config::remove_invalid_values},
    {"renormalize_logits", &Config::renormalize_logits},
    {"output_scores", &Config::output_scores},
    {"output_logits", &Config::output_logits},
    {"logprobs", &Config::logprobs, kFromZero},
    {"prompt_logprobs", &Config::prompt_logprobs, kFromZero},
    {"bos_token_id", &Config::bos_token_id, kAny, kSpecialToken},
    {"pad_token_id", &Config::pad_token_id, kAny, kSpecialToken},
    {"eos_token_id", &Config::eos_token_id, kAny, kEndTokens},
    {"decoder_start_token_id", &Config::decoder_start_token_id, kAny, kStartToken},
});

std::string number_text(double value) { return described({value}); }
std::string number_text(std::int64_t value) { return std::to_string(value); }

// The range as it holds for a type of number.
template <typename Number>
NumberRange range_of(NumberRange range) {
  if constexpr (std::is_integral_v<Number>) {
    range.low = std::max(range.low, -static_cast<double>(kMaxInteger));
    range.high = std::min(range.high, static_cast<double>(kMaxInteger));
  }
  return range;
}

template <typename Number>
std::string range_text(const NumberRange& declared) {
  const NumberRange range = range_of<Number>(declared);
  std::string text = std::is_integral_v<Number> ? "a whole number" : "a number";
  const auto limit = [](double value) { return number_text(static_cast<Number>(value)); };
  if (std::isfinite(range.low)) text += (range.above_low ? " above " : " from ") + limit(range.low);
  if (std::isfinite(range.high)) text += " to " + limit(range.high);
  return text;
}

template <typename Number>
Refusal check_number(const NumberRange& declared, Number value) {
  const NumberRange range = range_of<Number>(declared);
  const auto number = static_cast<double>(value);
  // Scores are float32, in which a number above 0 may be 0.
  const bool above = range.above_low ? static_cast<float>(number) > range.low : number >= range.low;
  if (above && number <= range.high) return std::nullopt;  // of NaN neither is true
  return "it must be " + range_text<Number>(declared) + ", and is " + number_text(value);
}

std::string refusal(std::string_view wanted, const Json& value) {
  return "it must be " + std::string(wanted) + ", and is " + described(value);
}

// Each `read` gives `out` a value of its type.

Refusal read(const Json& value, const ConfigField& /*field*/, bool& out) {
  const bool* const content = std::get_if<bool>(&value.value);
  if (content == nullptr) return refusal("true or false", value);
  out = *content;
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& /*field*/, EarlyStopping& out) {
  if (const bool* const first = std::get_if<bool>(&value.value)) {
    out = *first ? EarlyStopping::kFirst : EarlyStopping::kHeuristic;
    return std::nullopt;
  }
  const auto* const name = std::get_if<std::string>(&value.value);
  if (name == nullptr || *name != "never") return refusal("true, false or \"never\"", value);
  out = EarlyStopping::kNever;
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& /*field*/, ContextPolicy& out) {
  const auto* const name = std::get_if<std::string>(&value.value);
  if (name == nullptr || (*name != "error" && *name != "slide"))
    return refusal("\"error\" or \"slide\"", value);
  out = *name == "slide" ? ContextPolicy::kSlide : ContextPolicy::kError;
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& field, std::int64_t& out) {
  const auto* const content = std::get_if<std::int64_t>(&value.value);
  if (content == nullptr) return refusal(range_text<std::int64_t>(field.range), value);
  const bool is_low = *content == -1 && field.range.minus_one_is_low;
  const std::int64_t number = is_low ? static_cast<std::int64_t>(field.range.low) : *content;
  if (auto refused = check_number(field.range, number)) return refused;
  out = number;
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& /*field*/, std::uint64_t& out) {
  const auto* const content = std::get_if<std::int64_t>(&value.value);
  const auto* const large = std::get_if<std::uint64_t>(&value.value);
  if (large == nullptr && (content == nullptr || *content < 0))
    return refusal("a whole number from 0", value);
  out = large != nullptr ? *large : static_cast<std::uint64_t>(*content);
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& field, double& out) {
  const auto* const whole = std::get_if<std::int64_t>(&value.value);
  const auto* const content = std::get_if<double>(&value.value);
  if (whole == nullptr && content == nullptr)
    return refusal(range_text<double>(field.range), value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : *content;
  if (auto refused = check_number(field.range, number)) return refused;
  out = number;
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& field, std::optional<TokenId>& out) {
  const Json::Array* const list = field.tokens.list_of_one ? value.array() : nullptr;
  const Json& token = list != nullptr && list->size() == 1 ? list->front() : value;
  const auto* const content = std::get_if<std::int64_t>(&token.value);
  if (content != nullptr && *content < 0 && field.tokens.negative_is_none) {
    out = std::nullopt;
    return std::nullopt;
  }
  if (content == nullptr || *content < 0 || *content > kMaxInteger)
    return refusal("a token, a whole number from 0", value);
  out = static_cast<TokenId>(*content);
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& field, std::vector<TokenId>& out) {
  const Json::Array* elements = value.array();
  Json::Array only;
  if (elements == nullptr && field.tokens.one_or_list) elements = &(only = {value});
  if (elements == nullptr) return refusal("a list of tokens", value);
  for (const Json& element : *elements) {
    std::optional<TokenId> token;
    if (auto refused = read(element, field, token)) return refused;
    if (token) out.push_back(*token);
  }
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& /*field*/, std::vector<std::string>& out) {
  constexpr std::string_view kForm = "a text that is not empty, or a list of such";
  const Json::Array only = {value};
  for (const Json& element : value.array() != nullptr ? *value.array() : only) {
    const auto* const text = std::get_if<std::string>(&element.value);
    if (text == nullptr || text->empty()) return refusal(kForm, value);
    out.push_back(*text);
  }
  return std::nullopt;
}

Refusal read_sequence(const Json& value, const ConfigField& field, std::vector<TokenId>& out) {
  if (auto refused = read(value, field, out)) return refused;
  if (out.empty()) return "a sequence of tokens in it is empty";
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& field, std::vector<std::vector<TokenId>>& out) {
  if (value.array() == nullptr) return refusal("a list of lists of tokens", value);
  for (const Json& element : *value.array()) {
    if (auto refused = read_sequence(element, field, out.emplace_back())) return refused;
  }
  return std::nullopt;
}

// The tokens of a Python tuple's text, which keys of a dictionary are in a file: "(3, 4)", "(3,)".
std::optional<Json> tuple_tokens(std::string_view key) {
  if (key.size() < 3 || key.front() != '(' || key.back() != ')') return std::nullopt;
  key = key.substr(1, key.size() - 2);
  if (key.back() == ',') key.remove_suffix(1);
  auto tokens = parse_json("[" + std::string(key) + "]", kConfigLimits);
  if (!tokens) return std::nullopt;
  return std::move(*tokens);
}

Refusal read_bias(const Json& tokens, const Json& bias, const ConfigField& field,
                  std::vector<TokenBias>& out) {
  TokenBias& read_bias = out.emplace_back();
  if (auto refused = read_sequence(tokens, field, read_bias.first)) return refused;
  return read(bias, field, read_bias.second);
}

Refusal read(const Json& value, const ConfigField& field, std::vector<TokenBias>& out) {
  constexpr std::string_view kForm = "a list of at least one [[token, ...], bias]";
  if (const Json::Object* const object = value.object()) {
    for (const auto& [key, bias] : *object) {
      const auto tokens = tuple_tokens(key);
      if (!tokens) return refusal("an object with keys as \"(3, 4)\"", {key});
      if (auto refused = read_bias(*tokens, bias, field, out)) return refused;
    }
  } else if (value.array() != nullptr) {
    for (const Json& element : *value.array()) {
      const Json::Array* const pair = element.array();
      if (pair == nullptr || pair->size() != 2) return refusal(kForm, value);
      if (auto refused = read_bias((*pair)[0], (*pair)[1], field, out)) return refused;
    }
  }
  if (out.empty()) return refusal(kForm, value);
  return std::nullopt;
}

Refusal read(const Json& value, const ConfigField& field, std::pair<std::int64_t, double>& out) {
  const Json::Array* const pair = value.array();
  if (pair == nullptr || pair->size() != 2) return refusal("[first length, factor]", value);
  if (auto refused = read((*pair)[0], field, out.first)) return refused;
  return read((*pair)[1], field, out.second);
}

template <typename T>
Refusal read(const Json& value, const ConfigField& field, std::optional<T>& out) {
  return read(value, field, out.emplace());
}

template <typename T>
Refusal check(const ConfigField& field, const T& value) {
  if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
    return check_number(field.range, value);
  } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>> ||
                       std::is_same_v<T, std::optional<double>>) {
    return value ? check_number(field.range, *value) : std::nullopt;
  } else {
    return std::nullopt;
  }
}

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }

Refusal read_field(const ConfigField& field, const Json& value, GenerationConfig& config) {
  return std::visit(
      [&](const auto member) -> Refusal {
        using Value = std::remove_reference_t<decltype(config.*member)>;
        if (value.is_null()) {
          config.*member = GenerationConfig().*member;
          return std::nullopt;
        }
        Value read_value = Value();
        if (auto refused = read(value, field, read_value)) return refused;
        config.*member = std::move(read_value);
        return std::nullopt;
      },
      field.member);
}

Refusal check_field(const ConfigField& field, const GenerationConfig& config) {
  return std::visit([&](const auto member) { return check(field, config.*member); }, field.member);
}

}  // namespace polystate::sampler
