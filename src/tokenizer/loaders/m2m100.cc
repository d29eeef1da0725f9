// M2M100's tokenizer in `transformers` (tokenization_m2m_100.py): a SentencePiece model cuts a text
// into pieces, whose ids come from vocab.json; the languages' tokens have the ids after those. A
// text starts with the token of its language.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/numbered_pieces.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/post_processors/post_processor.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

constexpr NumberedPiecesDecoding kM2M100Decoding = {"", false};

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

constexpr std::string_view kClass = "M2M100Tokenizer";

// No piece has white space.
constexpr std::string_view kUnusedToken = "unused token ";

std::string unused_token(std::size_t number) {
  return std::string(kUnusedToken) + std::to_string(number);
}

std::string language_token(std::string_view language) {
  return "__" + std::string(language) + "__";
}

struct M2M100Config {
  NumberedPiecesConfig pieces;
  std::span<const std::string_view> languages;
  std::string language;          // of the texts to encode
  std::uint64_t unused_ids = 0;  // after those of the languages, which models have room for
  bool lists_added_tokens = false;
};

constexpr std::uint64_t kMostUnusedIds = 65536;

M2M100Config read_m2m100_config(const JsonCursor& root, bool target) {
  M2M100Config config;
  // Others have files of the same names, and other ids.
  const std::string class_name = root.string("tokenizer_class", kClass);
  if (class_name != kClass) {
    root.fail("'tokenizer_class' is '" + class_name + "', not " + std::string(kClass),
              ErrorCode::kUnsupported);
  }
  config.pieces = read_config(root, {{"bos_token", "<s>"},
                                     {"eos_token", "</s>"},
                                     {"sep_token", "</s>"},
                                     {"pad_token", "<pad>"},
                                     {"unk_token", "<unk>"}});
  config.lists_added_tokens = root.optional("added_tokens_decoder").has_value();
  config.unused_ids = root.size("num_madeup_words", 8);
  if (config.unused_ids > kMostUnusedIds) {
    root.fail("'num_madeup_words' is " + std::to_string(config.unused_ids) + "; the most is " +
                  std::to_string(kMostUnusedIds),
              ErrorCode::kUnsupported);
  }
  const std::string name = root.string("language_codes", "m2m100");
  config.languages = kM2M100Languages;
  if (name == "wmt21")
    config.languages = kWmt21Languages;
  else if (name != "m2m100")
    root.fail("'language_codes' is '" + name + "', not m2m100 or wmt21", ErrorCode::kUnsupported);
  const auto language = root.optional(target ? "tgt_lang" : "src_lang");
  if (language)
    config.language = language->string();
  else if (target)
    root.fail("'tgt_lang' is missing, in which texts are to be encoded", ErrorCode::kContract);
  else
    config.language = "en";
  if (root.ok() && std::ranges::find(config.languages, config.language) == config.languages.end()) {
    root.fail("'" + config.language + "' is none of the languages of " + name);
  }
  return config;
}

// The special tokens that older configurations have in a file of their own, which goes before.
Status read_special_tokens(std::string_view map, NumberedPiecesConfig& config) {
  const Result<Json> json = parse_json(map, kFileLimits);
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, status, "special_tokens_map.json");
  NumberedPiecesConfig read = read_config(root, config.roles);
  config.roles = std::move(read.roles);
  if (!read.additional.empty()) config.additional = std::move(read.additional);
  return status;
}

Result<M2M100Config> read_configs(const M2M100Files& files) {
  const Result<Json> json = parse_json(files.config.empty() ? "{}" : files.config, kFileLimits);
  if (!json) return json.error();
  Status status;
  M2M100Config config =
      read_m2m100_config(JsonCursor(*json, status, "tokenizer_config.json"), files.target);
  if (!status) return status.error();
  if (!files.special_tokens.empty() && !config.lists_added_tokens) {
    if (const Status read = read_special_tokens(files.special_tokens, config.pieces); !read)
      return read.error();
  }
  return config;
}

// Gives every language's token the next id after those of the pieces, and then the unused ones.
Status add_after_pieces(const M2M100Config& config, Vocabulary& vocabulary) {
  const std::size_t first = vocabulary.size();
  for (std::size_t i = 0; i < config.languages.size() + config.unused_ids; ++i) {
    const auto id = static_cast<TokenId>(first + i);
    const std::string token = i < config.languages.size()
                                  ? language_token(config.languages[i])
                                  : unused_token(i - config.languages.size());
    if (const Status added = vocabulary.add(token, id); !added) return added;
  }
  return {};
}

// transformers numbers special tokens that vocab.json lacks in the order in which they are given.
// Refuses those that get other ids so than their language has.
Status check_special_ids(const NumberedPiecesConfig& config, std::size_t pieces,
                         const Vocabulary& vocabulary) {
  auto next = static_cast<TokenId>(pieces);
  std::set<std::string_view> seen;
  const std::vector<std::string> special = config.special();
  for (const std::string& token : special) {
    const auto id = vocabulary.find(token);
    if ((id && *id < pieces) || !seen.insert(token).second) continue;
    if (id != next) {
      return Error{ErrorCode::kUnsupported,
                   "the special token '" + token + "' would get the id " + std::to_string(next) +
                       " in transformers, which is not that of a language of its name"};
    }
    ++next;
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
  const std::size_t pieces = vocabulary->size();
  if (const Status added = add_after_pieces(*config, *vocabulary); !added) return added.error();
  const auto language = vocabulary->find(language_token(config->language));
  if (!language) return Error{ErrorCode::kArtifact, "there is no token of the language"};
  const Result<SpecialIds> special = find_special_ids(config->pieces, *vocabulary);
  if (!special) return special.error();
  if (const Status checked = check_special_ids(config->pieces, pieces, *vocabulary); !checked)
    return checked.error();
  Result<Stages> stages = encoding_stages(*model, *special, config->pieces, std::move(*vocabulary));
  if (!stages) return stages;
  const Template::Item first = {std::nullopt, {*language}, 0};
  const Template::Item last = {std::nullopt, {special->end}, 0};
  std::vector<Template::Item> single = {first, {0, {}, 0}, last};
  std::vector<Template::Item> pair = {first, {0, {}, 0}, {1, {}, 0}, last};
  stages->post_processor = std::make_unique<Template>(std::move(single), std::move(pair));
  add_decoding(*model, config->pieces, kM2M100Decoding, *stages);
  // As in transformers, an unused id is the unknown token, but none that decoding leaves out.
  stages->decoded_token = [decoded = std::move(stages->decoded_token),
                           unknown = config->pieces.unknown()](TokenId id, std::string_view token) {
    return decoded(id, token.starts_with(kUnusedToken) ? unknown : token);
  };
  return stages;
}

}  // namespace polystate::tokenizer
