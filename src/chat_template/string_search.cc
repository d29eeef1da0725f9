#include "chat_template/string_search.h"

#include <string.h>  // memmem

#include <cstddef>
#include <string>
#include <string_view>

namespace polystate::chat_template {
namespace {

constexpr std::size_t kShort = 64;  // where the product is no matter

}  // namespace

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (part.size() <= kShort || from > text.size()) return text.find(part, from);
  // It takes two-way string matching for long parts, as Python does.
  const void* const found =
      memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t find_last_text(std::string_view text, std::string_view part) {
  if (part.size() <= kShort) return text.rfind(part);
  const std::string backwards(text.rbegin(), text.rend());
  const std::size_t found = find_text(backwards, std::string(part.rbegin(), part.rend()), 0);
  return found == std::string::npos ? found : text.size() - found - part.size();
}

}  // namespace polystate::chat_template
