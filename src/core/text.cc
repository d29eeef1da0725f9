#include "core/text.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {

std::string count_text(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string with_source(const std::string& text, const std::string& source) {
  return source.empty() ? text : text + " (" + source + ")";
}

}  // namespace polystate
