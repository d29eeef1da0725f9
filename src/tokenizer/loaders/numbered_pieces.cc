#include "tokenizer/loaders/numbered_pieces.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
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
#include "tokenizer/decoders/sentence_piece.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/model_sinks.h"
#include "tokenizer/loaders/sentence_piece.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/renumbered.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

// transformers' SPECIAL_TOKENS_ATTRIBUTES.
constexpr auto kRoles = std::to_array<std::string_view>(
    {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"});

// A token of the configuration: a string, or an object with its "content".
std::string read_token(const JsonCursor& json) {
  if (json.is_string()) return json.string();
  for (const std::string_view flag : {"lstrip", "rstrip", "single_word", "normalized"}) {
    if (json.boolean(flag, false))
      json.fail("'" + std::string(flag) + "' is not supported here", ErrorCode::kUnsupported);
  }
  return json["content"].string();
}

// An array of tokens, or an object of them by name.
std::vector<std::string> read_tokens(const JsonCursor& json) {
  std::vector<std::string> tokens;
  if (json.is_object()) {
    for (const auto& [name, token] : json.fields()) tokens.push_back(read_token(token));
  } else {
    for (const JsonCursor& token : json.elements()) tokens.push_back(read_token(token));
  }
  return tokens;
}

// Refuses what would change ids.
void check_settings(const JsonCursor& root, const NumberedPiecesConfig& config) {
  if (root.boolean("split_special_tokens", false))
    root.fail("'split_special_tokens' is not supported", ErrorCode::kUnsupported);
  const auto sampling = root.optional("sp_model_kwargs");
  if (sampling && !sampling->fields().empty())
    root.fail("'sp_model_kwargs' is not supported", ErrorCode::kUnsupported);
  const auto added = root.optional("added_tokens_decoder");
  if (!added) return;
  const std::vector<std::string> special = config.special();
  for (const auto& [id, token] : added->fields()) {
    const std::string content = read_token(token);
    if (!root.ok()) return;
    if (std::ranges::find(special, content) == special.end()) {
      token.fail("the added token '" + content + "' is no special one, which is not supported",
                 ErrorCode::kUnsupported);
    }
  }
}

}  // namespace

std::vector<std::string> NumberedPiecesConfig::special() const {
  std::vector<std::string> tokens;
  for (const auto& [role, token] : roles) tokens.push_back(token);
  tokens.insert(tokens.end(), additional.begin(), additional.end());
  return tokens;
}

NumberedPiecesConfig read_config(const JsonCursor& root, TokenRoles defaults) {
  NumberedPiecesConfig config;
  config.roles = std::move(defaults);
  for (const std::string_view role : kRoles) {
    if (const auto token = root.optional(role))
      config.roles.insert_or_assign(std::string(role), read_token(*token));
  }
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto tokens = root.optional(key);
    if (!tokens) continue;
    std::vector<std::string> given = read_tokens(*tokens);
    if (!given.empty()) config.additional = std::move(given);
  }
  check_settings(root, config);
  if (root.boolean("clean_up_tokenization_spaces", false)) {
    config.warnings.emplace_back(
        "'clean_up_tokenization_spaces' is ignored: decoded text keeps its spaces");
  }
  return config;
}

Result<Vocabulary> read_vocabulary(std::string_view content) {
  VocabularySink vocabulary;
  const std::array<JsonSinkPlace, 1> whole = {{{{}, &vocabulary}}};
  const Result<Json> json = parse_json(content, kFileLimits, whole);
  if (!json) return Error{json.error().code, "vocab.json: " + json.error().message};
  if (!json->is_null() || !vocabulary.scores().empty())
    return Error{ErrorCode::kArtifact, "vocab.json: must be an object of tokens and their ids"};
  return vocabulary.take_vocabulary();
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
  for (const std::string& token : config.special()) {
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
  // A text that two pieces have is the one that is known by its id alone, as in make_vocabulary.
  for (const bool is_text : {false, true}) {  // the first one that is added counts
    for (const SentencePieceModel::Piece& piece : model.pieces) {
      if (SentencePieceModel::is_text(piece.type) != is_text) continue;
      decoded.emplace(piece.text, decoded_piece(model, piece));
    }
  }
  for (const std::string& token : config.special()) {
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
