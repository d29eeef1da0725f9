#include "tokenizer/code_point_offsets.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {
namespace {

// By each byte's position, and that of the end: the code points before it. What one U+FFFD stands
// for is one.
std::vector<std::uint32_t> counts(std::string_view text) {
  std::vector<std::uint32_t> counts(text.size() + 1);
  std::uint32_t count = 0;
  for (std::size_t position = 0; position < text.size(); ++count) {
    const std::string_view rest = text.substr(position);
    std::size_t size = first_character(rest).size;
    if (size == 0) size = malformed_at(rest).size;
    for (std::size_t i = 0; i < size; ++i) counts[position + i] = count;
    position += size;
  }
  counts.back() = count;
  return counts;
}

void convert(const std::vector<std::uint32_t>& counts, Encoding& encoding) {
  for (TextRange& range : encoding.offsets) range = {counts[range.begin], counts[range.end]};
  for (Encoding& part : encoding.overflowing) convert(counts, part);
}

}  // namespace

void count_code_points(std::string_view text, Encoding& encoding) {
  if (ascii_prefix(text) < text.size()) convert(counts(text), encoding);
}

}  // namespace polystate::tokenizer
