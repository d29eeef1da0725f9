#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tokenizer/loaders/loaders.h"
#include "tokenizer/use_tokenizer.h"

namespace {

// Parts are divided by this, which none of the formats has.
constexpr std::string_view kDivider = "\n----\n";

std::string take_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(kDivider));
  rest.remove_prefix(part.size() == rest.size() ? part.size() : part.size() + kDivider.size());
  return std::string(part);
}

}  // namespace

// Marian's four files, one after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  polystate::tokenizer::MarianFiles files;
  files.encoder = take_part(rest);
  files.decoder = take_part(rest);
  files.vocabulary = take_part(rest);
  files.config = take_part(rest);
  if (!polystate::keeps_its_promises(polystate::open_files(files))) std::abort();
  return 0;
}
