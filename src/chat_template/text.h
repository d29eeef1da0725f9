#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace polystate::chat_template {

// Whose a character is. Where an operation cannot tell, it is the user's.
enum class Origin : std::uint8_t {
  kTemplate,  // written in the template, or among what it may trust: special tokens, known roles
  kUser,
  kAnswer,  // the model's, as it answered: trusted no more than the user's
};

// A string of valid UTF-8 that knows where each of its bytes came from.
class Text {
 public:
  Text() = default;
  Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
    if (origin != Origin::kTemplate && !bytes_.empty()) changes_.push_back({0, origin});
  }

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  // Calls part(begin, end, origin) for each longest part of one origin between two positions.
  template <typename Part>
  void for_each_part(std::size_t begin, std::size_t end, Part&& part) const;

  // The origin of the byte at a position; of an empty text the template's.
  [[nodiscard]] Origin origin_at(std::size_t position) const;
  // The memory that it takes, which is more where origins change.
  [[nodiscard]] std::size_t memory() const {
    return bytes_.size() + changes_.size() * sizeof(std::uint32_t);
  }
  // Whether any byte is not the template's.
  [[nodiscard]] bool has_user_bytes() const { return !changes_.empty(); }

 private:
  friend class TextBuilder;

  [[nodiscard]] std::size_t first_change_after(std::size_t position) const;

  // From a position on, bytes have an origin.
  struct Change {
    std::uint32_t position;
    Origin origin;
  };
  // The origin before a change.
  [[nodiscard]] Origin origin_before(std::size_t change) const {
    return change == 0 ? Origin::kTemplate : changes_[change - 1].origin;
  }

  std::string bytes_;
  std::vector<Change> changes_;  // ascending; before the first, bytes are the template's
};

// Makes a text of parts of others, which keep their origins.
class TextBuilder {
 public:
  void append(const Text& text) { append(text, 0, text.size()); }
  void append(const Text& text, std::size_t begin, std::size_t end);
  void append(std::string_view bytes, Origin origin);
  void append(char32_t code_point, Origin origin);

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  // The text so far; the builder is then empty.
  Text take() { return std::exchange(text_, Text()); }

 private:
  Text text_;
};

// The part of a text between two positions, which are ends of characters.
Text part_of(const Text& text, std::size_t begin, std::size_t end);

template <typename Part>
void Text::for_each_part(std::size_t begin, std::size_t end, Part&& part) const {
  std::size_t next = first_change_after(begin);
  while (begin < end) {
    const std::size_t part_end =
        next < changes_.size() && changes_[next].position < end ? changes_[next].position : end;
    part(begin, part_end, origin_before(next));
    begin = part_end;
    ++next;
  }
}

}  // namespace polystate::chat_template
