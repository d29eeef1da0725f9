#include "artifact/json_path.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "artifact/names.h"

namespace polystate {

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string shown(text.substr(0, kLongest));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kLongest ? shown + "..." : shown;
}

std::string in_quotes(std::string_view text) { return "\"" + shortened(text) + "\""; }

JsonPath JsonPath::element(std::size_t index) const {
  JsonPath path;
  path.text_ = text_ + "[" + std::to_string(index) + "]";
  return path;
}

JsonPath JsonPath::member(std::string_view name) const {
  JsonPath path;
  if (!is_identifier(name)) {
    path.text_ = text_ + "[" + in_quotes(name) + "]";
  } else {
    path.text_ = text_.empty() ? std::string(name) : text_ + "." + std::string(name);
  }
  return path;
}

}  // namespace polystate
