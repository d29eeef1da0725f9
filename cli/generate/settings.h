#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace polystate::cli {

// A field of GenerationConfig and what it shall be, as JSON.
using Setting = std::pair<std::string, std::string>;

// An option that sets a field.
struct SettingOption {
  const char* name;
  const char* field;
  const char* type;
  const char* help;
  bool is_text = false;  // its values are texts, and the field is a list of them
};

// Declares `options`, which live as long as the program, and --set, which sets any field. What they
// set is put into `settings` in the order of the command line: the last one counts.
void declare_settings(CLI::App& command, std::span<const SettingOption> options,
                      std::vector<Setting>& settings);

}  // namespace polystate::cli
