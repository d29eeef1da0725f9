#include "tokenizer/loaders/numbered_pieces.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decoders/sentence_piece.h"
#include "tokenizer/loaders/json.h"
#include "tokenizer/loaders/sentence_piece.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/renumbered.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

// A token of the configuration: a string, or an object with its "content".
std::string read_token(const JsonCursor& json) {
  return json.is_string() ? json.string() : json.string("content");
}

}  // namespace

NumberedPiecesConfig read_config(const JsonCursor& root,
                                 std::map<std::string, std::string, std::less<>> defaults) {
  NumberedPiecesConfig config;
  config.roles = std::move(defaults);
  for (auto& [role, token] : config.roles) {
    if (const auto given = root.optional(role)) token = read_token(*given);
    config.special.push_back(token);
  }
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto tokens = root.optional(key);
    if (!tokens || tokens->is_object()) continue;
    for (const JsonCursor& token : tokens->elements()) config.special.push_back(read_token(token));
  }
  if (root.boolean("clean_up_tokenization_spaces", false)) {
    config.warnings.emplace_back(
        "'clean_up_tokenization_spaces' is ignored: decoded text keeps its spaces");
  }
  return config;
}

Result<Vocabulary> read_vocabulary(std::string_view content) {
  const Result<JsonValue> json = parse_json(content, {});
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, "vocab.json", status);
  Vocabulary vocabulary;
  for (const auto& [token, id] : root.fields()) {
    const TokenId value = id.id();
    if (!status) break;
    if (const Status added = vocabulary.add(token, value); !added) return added.error();
  }
  if (!status) return status.error();
  return vocabulary;
}

Result<SpecialIds> find_special_ids(const NumberedPiecesConfig& config,
                                    const Vocabulary& vocabulary) {
  const auto unknown = vocabulary.find(config.unknown());
  const auto end = vocabulary.find(config.end());
  if (!unknown || !end) {
    return Error{ErrorCode::kArtifact,
                 "vocab.json lacks '" + config.unknown() + "' or '" + config.end() + "'"};
  }
  return SpecialIds{*unknown, *end};
}

Result<Stages> encoding_stages(const SentencePieceModel& model, const SpecialIds& special,
                               const NumberedPiecesConfig& config, Vocabulary vocabulary) {
  Stages stages;
  Result<std::unique_ptr<const Normalizer>> normalizer = make_normalizer(model);
  if (!normalizer) return normalizer.error();
  stages.normalizer = std::move(*normalizer);
  stages.pre_tokenizer = make_pre_tokenizer(model);
  Result<std::unique_ptr<const Model>> pieces = make_model(model);
  if (!pieces) return pieces.error();
  stages.model = std::make_unique<Renumbered>(std::move(*pieces), std::move(vocabulary),
                                              static_cast<TokenId>(model.unknown), special.unknown);
  for (const std::string& token : config.special) {
    AddedToken added;
    added.content = token;
    added.special = true;
    stages.added_tokens.push_back(std::move(added));
  }
  stages.warnings = config.warnings;
  return stages;
}

void add_decoding(const SentencePieceModel& model, const NumberedPiecesConfig& config,
                  const NumberedPiecesDecoding& decoding, Stages& stages) {
  std::map<std::string, std::string, std::less<>> decoded;
  for (const SentencePieceModel::Piece& piece : model.pieces)
    decoded.emplace(piece.text, decoded_piece(model, piece));
  for (const std::string& token : config.special) {
    decoded.insert_or_assign(
        token, tagged(SentencePieceKind::kSpecial, token + std::string(decoding.after_special)));
  }
  stages.decoded_token = [decoded = std::move(decoded)](TokenId, std::string_view token) {
    const auto found = decoded.find(token);
    return found != decoded.end() ? found->second : tagged(SentencePieceKind::kLiteral, token);
  };
  stages.decoders.push_back(std::make_unique<SentencePieceDecoder>(decoder_options(model)));
  stages.decoders.push_back(std::make_unique<StrippingDecoder>(decoding.replaces_markers));
}

}  // namespace polystate::tokenizer
