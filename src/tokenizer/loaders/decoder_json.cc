#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"

namespace polystate::tokenizer {
namespace {

using Decoders = std::vector<std::unique_ptr<const Decoder>>;

void add_byte_level(const JsonCursor&, Decoders& parts) {
  parts.push_back(byte_level_decoder(parts.empty()));
}

void add_word_piece(const JsonCursor& json, Decoders& parts) {
  parts.push_back(word_piece_decoder(json["prefix"].string(), json["cleanup"].boolean()));
}

void add_metaspace(const JsonCursor& json, Decoders& parts) {
  const bool prepends = read_prepend_scheme(json) != PrependScheme::kNever;
  parts.push_back(metaspace_decoder(json["replacement"].character(), prepends));
}

void add_bpe(const JsonCursor& json, Decoders& parts) {
  parts.push_back(bpe_decoder(json["suffix"].string()));
}

void add_ctc(const JsonCursor& json, Decoders& parts) {
  parts.push_back(ctc_decoder(json["pad_token"].string(), json["word_delimiter_token"].string(),
                              json["cleanup"].boolean()));
}

void add_replace(const JsonCursor& json, Decoders& parts) {
  auto pattern = read_pattern(json["pattern"]);
  std::string content = json["content"].string();
  if (pattern) parts.push_back(replace_decoder(std::move(*pattern), std::move(content)));
}

void add_strip(const JsonCursor& json, Decoders& parts) {
  const std::uint64_t start = json["start"].size();
  const std::uint64_t stop = json["stop"].size();
  if (std::max(start, stop) > kMaxStripped) {
    return json.fail("it strips " + std::to_string(std::max(start, stop)) +
                         " characters; the limit is " + std::to_string(kMaxStripped),
                     ErrorCode::kUnsupported);
  }
  parts.push_back(strip_decoder(json["content"].character(), start, stop));
}

template <std::unique_ptr<const Decoder> (*kMake)()>
void add_plain(const JsonCursor&, Decoders& parts) {
  parts.push_back(kMake());
}

void add_parts(const JsonCursor& json, Decoders& parts);

void add_sequence(const JsonCursor& json, Decoders& parts) {
  for (const JsonCursor& part : json["decoders"].elements()) add_parts(part, parts);
}

void add_parts(const JsonCursor& json, Decoders& parts) {
  using Adder = void (*)(const JsonCursor&, Decoders&);
  static const std::map<std::string_view, Adder> kAdders = {
      {"BPEDecoder", add_bpe},
      {"ByteFallback", add_plain<byte_fallback_decoder>},
      {"ByteLevel", add_byte_level},
      {"CTC", add_ctc},
      {"Fuse", add_plain<fuse_decoder>},
      {"Metaspace", add_metaspace},
      {"Replace", add_replace},
      {"Sequence", add_sequence},
      {"Strip", add_strip},
      {"WordPiece", add_word_piece},
  };
  const std::string type = json["type"].string();
  const auto found = kAdders.find(type);
  if (found == kAdders.end())
    return json.fail("the decoder '" + type + "' is not known", ErrorCode::kUnsupported);
  const Adder add = found->second;
  add(json, parts);
}

}  // namespace

std::vector<std::unique_ptr<const Decoder>> read_decoders(const JsonCursor& json) {
  Decoders decoders;
  add_parts(json, decoders);
  return decoders;
}

}  // namespace polystate::tokenizer
