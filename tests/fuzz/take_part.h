#pragma once

#include <string>
#include <string_view>

namespace polystate {

// Divides the files of one input; none of the formats has it.
inline constexpr std::string_view kDivider = "\n----\n";

// The next file of an input, which it leaves.
inline std::string take_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(kDivider));
  rest.remove_prefix(part.size() == rest.size() ? part.size() : part.size() + kDivider.size());
  return std::string(part);
}

}  // namespace polystate
