// M2M100's tokenizer in `transformers` (tokenization_m2m_100.py): a SentencePiece model cuts a text
// into pieces, whose ids come from vocab.json; the languages' tokens have the ids after those. A
// text starts with the token of its language.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/json.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/numbered_pieces.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

constexpr NumberedPiecesDecoding kDecoding = {"", false};

// Languages in the order of their tokens, by the name that "language_codes" gives them.
constexpr auto kM2M100Languages = std::to_array<std::string_view>(
    {"af", "am", "ar", "ast", "az", "ba", "be", "bg", "bn", "br",  "bs", "ca", "ceb", "cs", "cy",
     "da", "de", "el", "en",  "es", "et", "fa", "ff", "fi", "fr",  "fy", "ga", "gd",  "gl", "gu",
     "ha", "he", "hi", "hr",  "ht", "hu", "hy", "id", "ig", "ilo", "is", "it", "ja",  "jv", "ka",
     "kk", "km", "kn", "ko",  "lb", "lg", "ln", "lo", "lt", "lv",  "mg", "mk", "ml",  "mn", "mr",
     "ms", "my", "ne", "nl",  "no", "ns", "oc", "or", "pa", "pl",  "ps", "pt", "ro",  "ru", "sd",
     "si", "sk", "sl", "so",  "sq", "sr", "ss", "su", "sv", "sw",  "ta", "th", "tl",  "tn", "tr",
     "uk", "ur", "uz", "vi",  "wo", "xh", "yi", "yo", "zh", "zu"});
constexpr auto kWmt21Languages =
    std::to_array<std::string_view>({"en", "ha", "is", "ja", "cs", "ru", "zh", "de"});

std::string language_token(std::string_view language) {
  return "__" + std::string(language) + "__";
}

struct M2M100Config {
  NumberedPiecesConfig pieces;
  std::span<const std::string_view> languages;
  std::string language;  // of the texts to encode
};

M2M100Config read_m2m100_config(const JsonCursor& root, bool target) {
  M2M100Config config;
  config.pieces = read_config(root, {{"bos_token", "<s>"},
                                     {"eos_token", "</s>"},
                                     {"sep_token", "</s>"},
                                     {"pad_token", "<pad>"},
                                     {"unk_token", "<unk>"}});
  const auto codes = root.optional("language_codes");
  const std::string name = codes ? codes->string() : "m2m100";
  config.languages = kM2M100Languages;
  if (name == "wmt21")
    config.languages = kWmt21Languages;
  else if (name != "m2m100")
    root.fail(ErrorCode::kUnsupported, "'language_codes' is '" + name + "', not m2m100 or wmt21");
  const auto language = root.optional(target ? "tgt_lang" : "src_lang");
  if (language)
    config.language = language->string();
  else if (target)
    root.fail(ErrorCode::kContract, "'tgt_lang' is missing, in which texts are to be encoded");
  else
    config.language = "en";
  if (root.ok() && std::ranges::find(config.languages, config.language) == config.languages.end()) {
    root.fail(ErrorCode::kArtifact,
              "'" + config.language + "' is none of the languages of " + name);
  }
  return config;
}

// The special tokens that the model's first configurations name in a file of their own.
Status add_special_tokens(std::string_view map, NumberedPiecesConfig& config) {
  if (map.empty()) return {};
  const Result<JsonValue> json = parse_json(map, {});
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, "special_tokens_map.json", status);
  for (std::string& token : read_config(root, {}).special) {
    if (std::ranges::find(config.special, token) == config.special.end())
      config.special.push_back(std::move(token));
  }
  return status;
}

Result<M2M100Config> read_configs(const M2M100Files& files) {
  const Result<JsonValue> json = parse_json(files.config.empty() ? "{}" : files.config, {});
  if (!json) return json.error();
  Status status;
  M2M100Config config =
      read_m2m100_config(JsonCursor(*json, "tokenizer_config.json", status), files.target);
  if (!status) return status.error();
  if (const Status added = add_special_tokens(files.special_tokens, config.pieces); !added)
    return added.error();
  return config;
}

// Gives every language's token the next id after those of the pieces.
Status add_languages(std::span<const std::string_view> languages, Vocabulary& vocabulary) {
  const std::size_t first = vocabulary.size();
  for (std::size_t i = 0; i < languages.size(); ++i) {
    const auto id = static_cast<TokenId>(first + i);
    if (const Status added = vocabulary.add(language_token(languages[i]), id); !added) return added;
  }
  return {};
}

}  // namespace

Result<Stages> parse_m2m100(const M2M100Files& files) {
  const Result<SentencePieceModel> model = SentencePieceModel::parse(files.model);
  if (!model) return model.error();
  const Result<M2M100Config> config = read_configs(files);
  if (!config) return config.error();
  Result<Vocabulary> vocabulary = read_vocabulary(files.vocabulary);
  if (!vocabulary) return vocabulary.error();
  if (const Status added = add_languages(config->languages, *vocabulary); !added)
    return added.error();
  const auto language = vocabulary->find(language_token(config->language));
  if (!language) return Error{ErrorCode::kArtifact, "there is no token of the language"};
  const Result<SpecialIds> special = find_special_ids(config->pieces, *vocabulary);
  if (!special) return special.error();
  Result<Stages> stages = encoding_stages(*model, *special, config->pieces, std::move(*vocabulary));
  if (!stages) return stages;
  const Template::Item first = {std::nullopt, {*language}, 0};
  const Template::Item last = {std::nullopt, {special->end}, 0};
  std::vector<Template::Item> single = {first, {0, {}, 0}, last};
  std::vector<Template::Item> pair = {first, {0, {}, 0}, {1, {}, 0}, last};
  stages->post_processor = std::make_unique<Template>(std::move(single), std::move(pair));
  add_decoding(*model, config->pieces, kDecoding, *stages);
  return stages;
}

}  // namespace polystate::tokenizer
