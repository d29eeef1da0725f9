#include <cstddef>
#include <cstdint>
#include <string_view>

#include "polystate/text/tokenizer.h"
#include "use_tokenizer.h"

// The first line is the regular expression, the rest the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const std::size_t end = content.find('\n');
  polystate::TokenizerOptions options;
  options.tik_token.emplace();
  options.tik_token->pattern = content.substr(0, end);
  if (end != std::string_view::npos) {
    polystate::use_tokenizer(polystate::TokenizerFormat::kTikToken, content.substr(end + 1),
                             options);
  }
  return 0;
}
