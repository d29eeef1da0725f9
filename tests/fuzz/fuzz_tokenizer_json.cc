#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzzer.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/use_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  if (!polystate::keeps_its_promises(
          polystate::Tokenizer::parse(polystate::TokenizerFormat::kTokenizerJson, content)))
    std::abort();
  return 0;
}
