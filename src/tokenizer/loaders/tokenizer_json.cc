#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/model_json.h"
#include "tokenizer/loaders/model_sinks.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/normalizers/sentence_piece.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/stages.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {
namespace {

std::vector<AddedToken> read_added_tokens(const JsonCursor& json) {
  std::vector<AddedToken> tokens;
  for (const JsonCursor& element : json.elements()) {
    AddedToken token;
    token.content = element["content"].string();
    token.single_word = element["single_word"].boolean();
    token.lstrip = element["lstrip"].boolean();
    token.rstrip = element["rstrip"].boolean();
    token.normalized = element["normalized"].boolean();
    token.special = element["special"].boolean();
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void read_pre_tokenizers(const JsonCursor& json, ModelRead& model, Stages& stages) {
  if (const auto found = json.optional("pre_tokenizer")) {
    PreTokenizerRead read = read_pre_tokenizer(*found, model.bytes_suit);
    stages.pre_tokenizer = std::move(read.pre_tokenizer);
    if (read.gives_bytes) model.bpe.unit = BpeUnit::kAlphabetByte;
  } else if (model.boundaries.before || model.boundaries.after) {
    stages.pre_tokenizer = marker_split(std::string(kSpaceMarker), !model.boundaries.before);
  }
}

void read_decoding(const JsonCursor& json, Stages& stages) {
  const auto found = json.optional("decoder");
  if (!found) {
    stages.decoders.push_back(join_decoder());
    return;
  }
  stages.decoders = read_decoders(*found);
  if (stages.decoders.empty() || !stages.decoders.front()->takes_bytes()) return;
  stages.decoded_token = [](TokenId, std::string_view token) {
    std::string bytes;
    return append_alphabet_bytes(token, bytes) ? bytes : std::string(token);
  };
}

Stages read_stages(const JsonCursor& json, ModelSinks& sinks) {
  Stages stages;
  if (json.optional("version") && json["version"].string() != "1.0") {
    json.fail("the version '" + json["version"].string() + "' is not known",
              ErrorCode::kUnsupported);
  }
  const JsonCursor model = json["model"];
  ModelRead read = read_model(model, sinks, stages.warnings);
  if (const auto found = json.optional("normalizer")) stages.normalizer = read_normalizer(*found);
  read_pre_tokenizers(json, read, stages);
  if (const auto found = json.optional("post_processor"))
    stages.post_processor = read_post_processor(*found);
  read_decoding(json, stages);
  if (const auto found = json.optional("truncation")) stages.truncation = read_truncation(*found);
  if (const auto found = json.optional("padding")) stages.padding = read_padding(*found);
  if (const auto found = json.optional("added_tokens"))
    stages.added_tokens = read_added_tokens(*found);
  if (json.ok()) stages.model = make_model(model, std::move(read), sinks);
  return stages;
}

}  // namespace

Result<Stages> parse_tokenizer_json(std::string_view content) {
  ModelSinks sinks;
  const std::array<JsonSinkPlace, 2> places = {
      {{{"model", "vocab"}, &sinks.vocabulary}, {{"model", "merges"}, &sinks.merges}}};
  const Result<Json> json = parse_json(content, kFileLimits, places);
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, status);
  Stages stages = read_stages(root, sinks);
  if (!status) return status.error();
  return stages;
}

}  // namespace polystate::tokenizer
