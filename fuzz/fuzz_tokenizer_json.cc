#include <cstddef>
#include <cstdint>

#include "polystate/text/tokenizer.h"
#include "use_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  polystate::use_tokenizer(polystate::TokenizerFormat::kTokenizerJson,
                           {reinterpret_cast<const char*>(data), size});
  return 0;
}
