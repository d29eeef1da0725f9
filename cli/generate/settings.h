#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace polystate::cli {

// A field of GenerationConfig and what it shall be, as JSON.
using Setting = std::pair<std::string, std::string>;

// Declares the options that set fields: --beam, --n-best, --max-length and --set. They are put into
// `settings` in the order of the command line: the last one counts.
void declare_settings(CLI::App& command, std::vector<Setting>& settings);

}  // namespace polystate::cli
