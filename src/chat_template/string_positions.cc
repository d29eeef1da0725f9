#include "chat_template/string_positions.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/utf8.h"

namespace polystate::chat_template {

StringPositions::StringPositions(std::string_view text)
    : count_(static_cast<std::int64_t>(count_characters(text))) {
  if (static_cast<std::size_t>(count_) == text.size()) return;
  begins_.reserve(static_cast<std::size_t>(count_) + 1);
  for (std::size_t i = 0; i < text.size(); i += character_size(text[i]))
    begins_.push_back(static_cast<std::uint32_t>(i));
  begins_.push_back(static_cast<std::uint32_t>(text.size()));
}

}  // namespace polystate::chat_template
