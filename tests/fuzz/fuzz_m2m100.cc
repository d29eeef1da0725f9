#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzzer.h"
#include "take_part.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/use_tokenizer.h"

// M2M100's four files, one after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  polystate::tokenizer::M2M100Files files;
  files.model = polystate::take_part(rest);
  files.vocabulary = polystate::take_part(rest);
  files.config = polystate::take_part(rest);
  files.special_tokens = polystate::take_part(rest);
  files.target = size % 2 == 1;
  if (!polystate::keeps_its_promises(polystate::open_files(files))) std::abort();
  return 0;
}
