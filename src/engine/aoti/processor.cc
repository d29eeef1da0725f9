#include "engine/aoti/processor.h"

#include <sys/utsname.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "polystate/core/result.h"

namespace polystate {
namespace {

// The features of the first processor that /proc/cpuinfo has; none where there is no such file.
std::set<std::string> own_features() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> features;
    for (std::string word; words >> word;) features.insert(word);
    return features;
  }
  return {};
}

Error compiled_for(const std::string& needed, const std::string& found) {
  return Error{ErrorCode::kUnsupported,
               "it is machine code for processors " + needed + "; this one " + found +
                   ": export it for others (target='x86-64-v3'), or on this machine"};
}

}  // namespace

Status check_processor(const ProcessorNeeds& needs) {
  utsname own{};
  if (::uname(&own) != 0 || needs.machine != own.machine) {
    return compiled_for("of type " + needs.machine, "is " + std::string(own.machine));
  }
  const std::set<std::string> features = own_features();
  std::string missing;
  for (const std::string& feature : needs.features) {
    if (!features.contains(feature)) missing += (missing.empty() ? "" : ", ") + feature;
  }
  return missing.empty() ? Status() : compiled_for("with " + missing, "has none of these");
}

}  // namespace polystate
