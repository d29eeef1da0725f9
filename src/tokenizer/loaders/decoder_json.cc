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
#include "tokenizer/decoders/bpe.h"
#include "tokenizer/decoders/byte_fallback.h"
#include "tokenizer/decoders/byte_level.h"
#include "tokenizer/decoders/ctc.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/join.h"
#include "tokenizer/decoders/metaspace.h"
#include "tokenizer/decoders/replace.h"
#include "tokenizer/decoders/strip.h"
#include "tokenizer/decoders/word_piece.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/pre_tokenizers/metaspace.h"

namespace polystate::tokenizer {
namespace {

using Decoders = std::vector<std::unique_ptr<const Decoder>>;

void add_byte_level(const JsonCursor&, Decoders& parts) {
  parts.push_back(std::make_unique<ByteLevelDecoder>(parts.empty()));
}

void add_word_piece(const JsonCursor& json, Decoders& parts) {
  parts.push_back(
      std::make_unique<WordPieceDecoder>(json["prefix"].string(), json["cleanup"].boolean()));
}

void add_metaspace(const JsonCursor& json, Decoders& parts) {
  const bool prepends = read_prepend_scheme(json) != PrependScheme::kNever;
  parts.push_back(std::make_unique<MetaspaceDecoder>(json["replacement"].character(), prepends));
}

void add_bpe(const JsonCursor& json, Decoders& parts) {
  parts.push_back(std::make_unique<BpeDecoder>(json["suffix"].string()));
}

void add_ctc(const JsonCursor& json, Decoders& parts) {
  parts.push_back(std::make_unique<CtcDecoder>(json["pad_token"].string(),
                                               json["word_delimiter_token"].string(),
                                               json["cleanup"].boolean()));
}

void add_replace(const JsonCursor& json, Decoders& parts) {
  auto pattern = read_pattern(json["pattern"]);
  std::string content = json["content"].string();
  if (pattern)
    parts.push_back(std::make_unique<ReplaceDecoder>(std::move(*pattern), std::move(content)));
}

void add_strip(const JsonCursor& json, Decoders& parts) {
  const std::uint64_t start = json["start"].size();
  const std::uint64_t stop = json["stop"].size();
  if (std::max(start, stop) > StripDecoder::kMaxCount) {
    return json.fail("it strips " + std::to_string(std::max(start, stop)) +
                         " characters; the limit is " + std::to_string(StripDecoder::kMaxCount),
                     ErrorCode::kUnsupported);
  }
  parts.push_back(std::make_unique<StripDecoder>(json["content"].character(), start, stop));
}

template <typename T>
void add_plain(const JsonCursor&, Decoders& parts) {
  parts.push_back(std::make_unique<T>());
}

void add_parts(const JsonCursor& json, Decoders& parts);

void add_sequence(const JsonCursor& json, Decoders& parts) {
  for (const JsonCursor& part : json["decoders"].elements()) add_parts(part, parts);
}

void add_parts(const JsonCursor& json, Decoders& parts) {
  using Adder = void (*)(const JsonCursor&, Decoders&);
  static const std::map<std::string_view, Adder> kAdders = {
      {"BPEDecoder", add_bpe},
      {"ByteFallback", add_plain<ByteFallbackDecoder>},
      {"ByteLevel", add_byte_level},
      {"CTC", add_ctc},
      {"Fuse", add_plain<FuseDecoder>},
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

DecodersRead read_decoders(const JsonCursor& json) {
  DecodersRead read;
  add_parts(json, read.decoders);
  read.takes_bytes = !read.decoders.empty() &&
                     dynamic_cast<const ByteLevelDecoder*>(read.decoders[0].get()) != nullptr;
  return read;
}

}  // namespace polystate::tokenizer
