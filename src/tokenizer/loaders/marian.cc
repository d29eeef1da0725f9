// Marian's tokenizer in `transformers` (tokenization_marian.py): a SentencePiece model cuts a text
// into pieces, whose ids come from a vocabulary of their own. The Moses normalizer that the class
// makes where sacremoses is installed takes no part in its encoding (5.23), nor here.

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/numbered_pieces.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

constexpr NumberedPiecesDecoding kMarianDecoding = {" ", true};

Result<NumberedPiecesConfig> read_marian_config(std::string_view content) {
  const Result<Json> json = parse_json(content.empty() ? "{}" : content, kFileLimits);
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, status, "tokenizer_config.json");
  NumberedPiecesConfig config =
      read_config(root, {{"unk_token", "<unk>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}});
  if (root.boolean("separate_vocabs", false))
    root.fail("'separate_vocabs' is not supported", ErrorCode::kUnsupported);
  if (!status) return status.error();
  return config;
}

// The language code that a text starts with: ">>fr<<".
std::size_t language_code_size(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const std::size_t end = text.find("<<");
  return end == std::string_view::npos ? 0 : end + 2;
}

}  // namespace

Result<Stages> parse_marian(const MarianFiles& files) {
  const Result<SentencePieceModel> encoder = SentencePieceModel::parse(files.encoder);
  if (!encoder) return encoder.error();
  const Result<SentencePieceModel> decoder = SentencePieceModel::parse(files.decoder);
  if (!decoder) return decoder.error();
  const Result<NumberedPiecesConfig> config = read_marian_config(files.config);
  if (!config) return config.error();
  Result<Vocabulary> vocabulary = read_vocabulary(files.vocabulary);
  if (!vocabulary) return vocabulary.error();
  const auto ids = std::make_shared<const Vocabulary>(*vocabulary);
  const Result<SpecialIds> special = find_special_ids(*config, *ids);
  if (!special) return special.error();
  Result<Stages> stages = encoding_stages(*encoder, *special, *config, std::move(*vocabulary));
  if (!stages) return stages;
  stages->leading_token =
      [ids, unknown = special->unknown](std::string_view text) -> std::optional<LeadingToken> {
    const std::size_t size = language_code_size(text);
    if (size == 0) return std::nullopt;
    return LeadingToken{size, ids->find(text.substr(0, size)).value_or(unknown)};
  };
  const Template::Item last = {std::nullopt, {special->end}, 0};
  std::vector<Template::Item> single = {{0, {}, 0}, last};
  std::vector<Template::Item> pair = {{0, {}, 0}, {1, {}, 0}, last};
  stages->post_processor = std::make_unique<Template>(std::move(single), std::move(pair));
  add_decoding(*decoder, *config, kMarianDecoding, *stages);
  return stages;
}

}  // namespace polystate::tokenizer
