#include "cli/generate/settings.h"

#include <CLI/App.hpp>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

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
  const auto [name, value] = setting_of(text);
  const Status set = GenerationConfig().set(name, value);
  return set ? "" : set.error().message;
}

// An option that sets a field of GenerationConfig.
struct SettingOption {
  const char* name;
  const char* prefix;  // goes before what the user writes: "num_beams="
  const char* type;
  const char* help;
};

constexpr std::array kSettings = {
    SettingOption{"--beam", "num_beams=", "COUNT",
                  "Beams of the search; 1: greedy (default: as the model says)"},
    SettingOption{"--n-best", "num_return_sequences=", "COUNT",
                  "Print so many translations of each text, best first"},
    SettingOption{"--max-length", "max_length=", "COUNT",
                  "The most tokens of a translation, its start token included"},
    SettingOption{"--set", "", "NAME=VALUE",
                  "A field of transformers' GenerationConfig; may be repeated"},
};

void add_setting(CLI::App& command, std::vector<Setting>& settings, const SettingOption& option) {
  command
      .add_option_function<std::string>(
          option.name,
          [&settings, &option](const std::string& text) {
            settings.push_back(setting_of(option.prefix + text));
          },
          option.help)
      ->type_name(option.type)
      ->check([&option](const std::string& text) { return setting_fault(option.prefix + text); })
      ->trigger_on_parse();
}

}  // namespace

void declare_settings(CLI::App& command, std::vector<Setting>& settings) {
  for (const SettingOption& option : kSettings) add_setting(command, settings, option);
}

}  // namespace polystate::cli
