#include "cli/warnings.h"

#include <cstdio>
#include <string>
#include <vector>

#include "cli/text.h"

namespace polystate::cli {

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "polystate: warning: %s\n", printable(warning).c_str());
}

}  // namespace polystate::cli
