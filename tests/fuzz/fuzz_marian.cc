#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzzer.h"
#include "take_part.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/use_tokenizer.h"

// Marian's four files, one after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  polystate::tokenizer::MarianFiles files;
  files.encoder = polystate::take_part(rest);
  files.decoder = polystate::take_part(rest);
  files.vocabulary = polystate::take_part(rest);
  files.config = polystate::take_part(rest);
  if (!polystate::keeps_its_promises(polystate::open_files(files))) std::abort();
  return 0;
}
