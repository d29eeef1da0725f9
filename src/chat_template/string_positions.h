#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace polystate::chat_template {

// Where the characters of a text begin.
class StringPositions {
 public:
  explicit StringPositions(std::string_view text);

  // How many characters there are.
  [[nodiscard]] std::int64_t count() const { return count_; }
  // The byte at which a character begins; of the character after the last one the end.
  [[nodiscard]] std::size_t byte_of(std::int64_t character) const {
    const auto i = static_cast<std::size_t>(character);
    return begins_.empty() ? i : begins_[i];
  }

 private:
  std::int64_t count_;
  std::vector<std::uint32_t> begins_;  // empty: each has one byte
};

}  // namespace polystate::chat_template
