#include "cli/generate/settings.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/text.h"
#include "polystate/core/result.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::cli {
namespace {

using Json = nlohmann::ordered_json;

// NAME=VALUE; a value that is no JSON is a text.
Setting setting_of(const std::string& text) {
  const std::size_t equal = text.find('=');
  std::string value = equal == std::string::npos ? "" : text.substr(equal + 1);
  if (!Json::accept(value))
    value = Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  return {text.substr(0, equal), std::move(value)};
}

std::string setting_fault(const std::string& text) {
  if (text.find('=') == std::string::npos)
    return "'" + text + "': NAME=VALUE is needed, a field and what it shall be";
  if (std::string fault = utf8_fault(text); !fault.empty()) return fault;
  const auto [name, value] = setting_of(text);
  const Status set = GenerationConfig().set(name, value);
  return set ? "" : set.error().message;
}

// "num_beams=4" for "4".
std::string assignment(const SettingOption& option, const std::string& value) {
  return std::string(option.field) + "=" + value;
}

std::string list_of(const Json& texts) {
  return texts.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Sets the field to the list that it was set to before, and one more text.
void add_text(const SettingOption& option, const std::string& text,
              std::vector<Setting>& settings) {
  Json texts = Json::array();
  const auto before = std::ranges::find(settings, option.field, &Setting::first);
  if (before != settings.end()) {
    texts = Json::parse(before->second);
    settings.erase(before);
  }
  texts.push_back(text);
  settings.emplace_back(option.field, list_of(texts));
}

void declare_texts(CLI::App& command, const SettingOption& option, std::vector<Setting>& settings) {
  command
      .add_option_function<std::vector<std::string>>(
          option.name,
          [&settings, &option](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) add_text(option, text, settings);
          },
          option.help)
      ->type_name(option.type)
      ->check(utf8_fault)
      ->check([&option](const std::string& text) {
        return setting_fault(assignment(option, list_of(Json::array({text}))));
      })
      ->allow_extra_args(false);
}

void declare_value(CLI::App& command, const SettingOption& option, std::vector<Setting>& settings) {
  command
      .add_option_function<std::string>(
          option.name,
          [&settings, &option](const std::string& value) {
            settings.push_back(setting_of(assignment(option, value)));
          },
          option.help)
      ->type_name(option.type)
      ->check(
          [&option](const std::string& value) { return setting_fault(assignment(option, value)); })
      ->trigger_on_parse();
}

}  // namespace

void declare_settings(CLI::App& command, std::span<const SettingOption> options,
                      std::vector<Setting>& settings) {
  for (const SettingOption& option : options) {
    option.is_text ? declare_texts(command, option, settings)
                   : declare_value(command, option, settings);
  }
  command
      .add_option_function<std::string>(
          "--set", [&settings](const std::string& text) { settings.push_back(setting_of(text)); },
          "A field of transformers' GenerationConfig; may be repeated")
      ->type_name("NAME=VALUE")
      ->check(setting_fault)
      ->trigger_on_parse();
}

}  // namespace polystate::cli
