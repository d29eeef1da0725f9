#include "response/json_body.h"

#include <cstddef>
#include <string_view>

namespace polystate::response {
namespace {

constexpr std::string_view kSpace = " \t\n\r";
// What numbers, true, false and null consist of, and what separates values.
constexpr std::string_view kOfValues = "0123456789+-.eEtrufalsn,:";

}  // namespace

void JsonBody::read(std::string_view answer, std::size_t end) {
  for (; read_ < end && !is_broken_; ++read_) {
    if (is_in_text_) {
      read_in_text(answer[read_]);
    } else {
      read_between(answer[read_]);
    }
  }
}

void JsonBody::read_in_text(char c) {
  if (static_cast<unsigned char>(c) < ' ') {
    is_broken_ = true;  // JSON has control characters as escapes alone
  } else if (is_escaped_) {
    is_escaped_ = false;
  } else if (c == '\\') {
    is_escaped_ = true;
  } else if (c == '"') {
    is_in_text_ = false;
  }
}

void JsonBody::read_between(char c) {
  if (kSpace.find(c) != std::string_view::npos) return;
  if (is_over_) {
    is_broken_ = true;
    return;
  }
  if (c == '"') {
    is_in_text_ = true;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if (c == '}' || c == ']') {
    is_broken_ = depth_ == 0;
    if (depth_ > 0) --depth_;
    is_over_ = depth_ == 0;
  } else if (kOfValues.find(c) == std::string_view::npos) {
    is_broken_ = true;
  }
}

}  // namespace polystate::response
