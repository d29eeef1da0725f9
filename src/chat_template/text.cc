#include "chat_template/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace polystate::chat_template {

std::size_t Text::first_change_after(std::size_t position) const {
  const auto found = std::ranges::upper_bound(changes_, position, {}, &Change::position);
  return static_cast<std::size_t>(found - changes_.begin());
}

Origin Text::origin_at(std::size_t position) const {
  return origin_before(first_change_after(position));
}

void TextBuilder::append(const Text& text, std::size_t begin, std::size_t end) {
  text.for_each_part(begin, end, [&](std::size_t from, std::size_t to, Origin origin) {
    append(text.bytes().substr(from, to - from), origin);
  });
}

void TextBuilder::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  if (origin != text_.origin_before(text_.changes_.size()))
    text_.changes_.push_back({static_cast<std::uint32_t>(text_.bytes_.size()), origin});
  text_.bytes_ += bytes;
}

void TextBuilder::append(char32_t code_point, Origin origin) {
  std::string bytes;
  append_character(code_point, bytes);
  append(bytes, origin);
}

Text part_of(const Text& text, std::size_t begin, std::size_t end) {
  TextBuilder part;
  part.append(text, begin, end);
  return part.take();
}

}  // namespace polystate::chat_template
