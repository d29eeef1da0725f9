#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzzer.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/use_tokenizer.h"

// The first line is the regular expression, the rest the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const std::size_t end = content.find('\n');
  if (end == std::string_view::npos) return 0;
  polystate::TokenizerOptions options;
  options.tik_token.emplace();
  options.tik_token->pattern = content.substr(0, end);
  const std::string_view file = content.substr(end + 1);
  if (!polystate::keeps_its_promises(
          polystate::Tokenizer::parse(polystate::TokenizerFormat::kTikToken, file, options)))
    std::abort();
  return 0;
}
