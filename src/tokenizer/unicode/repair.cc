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
  while (position < text.size()) {
    const std::size_t end = position + valid_prefix(text.substr(position));
    out += text.substr(position, end - position);
    for (; sources != nullptr && position < end; position += character_size(text[position])) {
      const std::uint32_t size = character_size(text[position]);
      append_sources(position, size, size, *sources);
    }
    position = end;
    if (position == text.size()) return;
    const MalformedUtf8 malformed = malformed_at(text.substr(position));
    out += kReplacementCharacter;
    if (sources != nullptr)
      append_sources(position, malformed.size, kReplacementCharacter.size(), *sources);
    position += malformed.size;
  }
}

}  // namespace polystate::tokenizer
