#include "tokenizer/post_processors/padding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/post_processors/direction.h"

namespace polystate::tokenizer {
namespace {

template <typename T>
void pad_rows(std::vector<T>& values, std::size_t count, T value, Direction direction) {
  values.insert(direction == Direction::kLeft ? values.begin() : values.end(), count, value);
}

}  // namespace

std::size_t padded_length(const Padding& padding, std::size_t longest) {
  const std::size_t length = padding.fixed_length.value_or(longest);
  const std::size_t multiple = std::max<std::size_t>(padding.multiple_of, 1);
  return (length + multiple - 1) / multiple * multiple;
}

void pad(const Padding& padding, std::size_t length, bool offsets, Encoding& encoding) {
  for (Encoding& part : encoding.overflowing) pad(padding, length, offsets, part);
  if (encoding.ids.size() >= length) return;
  const std::size_t count = length - encoding.ids.size();
  pad_rows(encoding.ids, count, padding.id, padding.direction);
  if (offsets) pad_rows(encoding.offsets, count, TextRange{}, padding.direction);
  pad_rows(encoding.type_ids, count, padding.type_id, padding.direction);
  pad_rows<std::uint8_t>(encoding.special_tokens_mask, count, 1, padding.direction);
  pad_rows<std::uint8_t>(encoding.attention_mask, count, 0, padding.direction);
}

}  // namespace polystate::tokenizer
