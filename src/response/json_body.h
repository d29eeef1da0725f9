#pragma once

#include <cstddef>
#include <string_view>

namespace polystate::response {

// Follows the JSON object or list of a call while it comes, to tell a closing that is a part of one
// of its texts from the one behind it. It checks no more of the JSON than it needs for that.
class JsonBody {
 public:
  JsonBody() = default;
  // Of an answer in which it begins at `begin`.
  explicit JsonBody(std::size_t begin) : read_(begin) {}

  // Reads on up to `end` of the answer, of which there is at least so much.
  void read(std::string_view answer, std::size_t end);

  // Whether a text is open that may still become one of JSON.
  [[nodiscard]] bool is_in_text() const { return is_in_text_ && !is_broken_; }
  // Whether it is over, and nothing but white space came after it.
  [[nodiscard]] bool is_whole() const { return is_over_ && !is_broken_; }

 private:
  void read_in_text(char c);
  void read_between(char c);

  std::size_t read_ = 0;
  std::size_t depth_ = 0;  // of the objects and lists that are open
  bool is_in_text_ = false;
  bool is_escaped_ = false;  // the next character of a text
  bool is_over_ = false;
  bool is_broken_ = false;  // it is no JSON
};

}  // namespace polystate::response
