#include "tokenizer/unicode/repair.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {
namespace {

void append_sources(std::size_t begin, std::size_t size, std::size_t count,
                    std::vector<TextRange>& sources) {
  const TextRange range{static_cast<std::uint32_t>(begin),
                        static_cast<std::uint32_t>(begin + size)};
  sources.insert(sources.end(), count, range);
}

}  // namespace

void append_repaired(std::string_view text, std::string& out, std::vector<TextRange>* sources) {
  std::size_t position = 0;
  for_each_utf8_part(text, [&](std::string_view part, bool is_valid) {
    const std::string_view shown = is_valid ? part : kReplacementCharacter;
    out += shown;
    if (sources == nullptr) return;
    const std::size_t end = position + part.size();
    if (!is_valid) append_sources(position, part.size(), shown.size(), *sources);
    for (; is_valid && position < end; position += character_size(text[position])) {
      const std::uint32_t size = character_size(text[position]);
      append_sources(position, size, size, *sources);
    }
    position = end;
  });
}

}  // namespace polystate::tokenizer
