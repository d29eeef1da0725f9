#pragma once

#include <string>
#include <vector>

namespace polystate::cli {

// A line on standard error for each.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace polystate::cli
