#include "core/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {
namespace {

template <typename T>
std::string shortest_text(T value) {
  if (std::isnan(value)) return "nan";  // whatever its sign
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

}  // namespace

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string shown(text.substr(0, kLongest));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kLongest ? shown + "..." : shown;
}

std::string in_quotes(std::string_view text) { return "\"" + shortened(text) + "\""; }

std::string number_text(double value) { return shortest_text(value); }
std::string number_text(float value) { return shortest_text(value); }

std::string count_text(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string with_source(const std::string& text, const std::string& source) {
  return source.empty() ? text : text + " (" + source + ")";
}

}  // namespace polystate
