// Marian's tokenizer in `transformers` (tokenization_marian.py): a SentencePiece model cuts a text
// into pieces, whose ids come from a vocabulary of their own. The Moses normalizer that the class
// makes where sacremoses is installed takes no part in its encoding (5.23), nor here.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decoders/sentence_piece.h"
#include "tokenizer/loaders/json.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/sentence_piece.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

// The pieces of a SentencePiece model, with the ids of another vocabulary.
class MarianModel : public Model {
 public:
  MarianModel(std::unique_ptr<const Model> pieces, Vocabulary vocabulary, TokenId unknown_piece,
              TokenId unknown)
      : Model(std::move(vocabulary)),
        pieces_(std::move(pieces)),
        unknown_piece_(unknown_piece),
        unknown_(unknown) {
    for (TokenId id = 0; id < pieces_->vocabulary().id_limit(); ++id) {
      const auto piece = pieces_->vocabulary().token(id);
      ids_.push_back(piece ? this->vocabulary().find(*piece).value_or(unknown) : unknown);
    }
  }

  Status tokenize(std::string_view piece, std::vector<Token>& tokens) const override {
    const std::size_t before = tokens.size();
    if (const Status done = pieces_->tokenize(piece, tokens); !done) return done;
    for (std::size_t i = before; i < tokens.size(); ++i) {
      Token& token = tokens[i];
      if (token.id == unknown_piece_) {
        const std::string_view text = piece.substr(token.begin, token.end - token.begin);
        token.id = vocabulary().find(text).value_or(unknown_);
      } else {
        token.id = ids_[token.id];
      }
    }
    return {};
  }

 private:
  std::unique_ptr<const Model> pieces_;
  TokenId unknown_piece_;
  TokenId unknown_;
  std::vector<TokenId> ids_;  // of this vocabulary, by those of the pieces
};

struct MarianConfig {
  std::string unknown = "<unk>";
  std::string end = "</s>";
  std::vector<std::string> special = {"<unk>", "</s>", "<pad>"};
  std::vector<std::string> warnings;
};

// A token of the configuration: a string, or an object with its "content".
std::string read_token(const JsonCursor& json) {
  return json.is_string() ? json.string() : json.string("content");
}

Result<MarianConfig> read_config(std::string_view content) {
  MarianConfig config;
  if (content.empty()) return config;
  const Result<JsonValue> json = parse_json(content, {});
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, "tokenizer_config.json", status);
  std::string pad = "<pad>";
  if (const auto token = root.optional("unk_token")) config.unknown = read_token(*token);
  if (const auto token = root.optional("eos_token")) config.end = read_token(*token);
  if (const auto token = root.optional("pad_token")) pad = read_token(*token);
  config.special = {config.unknown, config.end, pad};
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto tokens = root.optional(key);
    if (!tokens || tokens->is_object()) continue;
    for (const JsonCursor& token : tokens->elements()) config.special.push_back(read_token(token));
  }
  if (root.boolean("clean_up_tokenization_spaces", false)) {
    config.warnings.emplace_back(
        "'clean_up_tokenization_spaces' is ignored: decoded text keeps its spaces");
  }
  if (root.boolean("separate_vocabs", false))
    root.fail(ErrorCode::kUnsupported, "'separate_vocabs' is not supported");
  if (!status) return status.error();
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

// The language code that a text starts with: ">>fr<<".
std::size_t language_code_size(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const std::size_t end = text.find("<<");
  return end == std::string_view::npos ? 0 : end + 2;
}

void set_decoding(const SentencePieceModel& model, const MarianConfig& config, Stages& stages) {
  std::map<std::string, std::string, std::less<>> decoded;
  for (const SentencePieceModel::Piece& piece : model.pieces)
    decoded.emplace(piece.text, decoded_piece(model, piece));
  const std::set<std::string, std::less<>> special(config.special.begin(), config.special.end());
  stages.decoded_token = [decoded = std::move(decoded), special](TokenId, std::string_view token) {
    if (special.contains(token)) return tagged(SentencePieceKind::kSpecial, token);
    const auto found = decoded.find(token);
    return found != decoded.end() ? found->second : tagged(SentencePieceKind::kLiteral, token);
  };
  stages.decoders.push_back(std::make_unique<SentencePieceDecoder>(decoder_options(model)));
  stages.decoders.push_back(std::make_unique<MarianDecoder>());
}

Result<Stages> make_stages(const SentencePieceModel& encoder, const SentencePieceModel& decoder,
                           const MarianConfig& config, Vocabulary vocabulary) {
  const auto unknown = vocabulary.find(config.unknown);
  const auto end = vocabulary.find(config.end);
  if (!unknown || !end) {
    return Error{ErrorCode::kArtifact,
                 "vocab.json lacks '" + config.unknown + "' or '" + config.end + "'"};
  }
  Stages stages;
  Result<std::unique_ptr<const Normalizer>> normalizer = make_normalizer(encoder);
  if (!normalizer) return normalizer.error();
  stages.normalizer = std::move(*normalizer);
  stages.pre_tokenizer = make_pre_tokenizer(encoder);
  Result<std::unique_ptr<const Model>> pieces = make_model(encoder);
  if (!pieces) return pieces.error();
  const auto model = std::make_shared<const Vocabulary>(vocabulary);
  stages.leading_token = [model, unknown](std::string_view text) -> std::optional<LeadingToken> {
    const std::size_t size = language_code_size(text);
    if (size == 0) return std::nullopt;
    return LeadingToken{size, model->find(text.substr(0, size)).value_or(*unknown)};
  };
  stages.model = std::make_unique<MarianModel>(std::move(*pieces), std::move(vocabulary),
                                               static_cast<TokenId>(encoder.unknown), *unknown);
  std::vector<Template::Item> single = {{0, {}, 0}, {std::nullopt, {*end}, 0}};
  std::vector<Template::Item> pair = {{0, {}, 0}, {1, {}, 0}, {std::nullopt, {*end}, 0}};
  stages.post_processor = std::make_unique<Template>(std::move(single), std::move(pair));
  for (const std::string& token : config.special) {
    AddedToken added;
    added.content = token;
    added.special = true;
    stages.added_tokens.push_back(std::move(added));
  }
  set_decoding(decoder, config, stages);
  stages.warnings = config.warnings;
  return stages;
}

}  // namespace

Result<Stages> parse_marian(const MarianFiles& files) {
  const Result<SentencePieceModel> encoder = SentencePieceModel::parse(files.encoder);
  if (!encoder) return encoder.error();
  const Result<SentencePieceModel> decoder = SentencePieceModel::parse(files.decoder);
  if (!decoder) return decoder.error();
  const Result<MarianConfig> config = read_config(files.config);
  if (!config) return config.error();
  Result<Vocabulary> vocabulary = read_vocabulary(files.vocabulary);
  if (!vocabulary) return vocabulary.error();
  return make_stages(*encoder, *decoder, *config, std::move(*vocabulary));
}

}  // namespace polystate::tokenizer
