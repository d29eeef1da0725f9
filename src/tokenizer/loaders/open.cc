#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/file.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

namespace fs = std::filesystem;

// The SentencePiece model of M2M100, where vocab.json is beside it.
constexpr std::string_view kNumberedModel = "sentencepiece.bpe.model";
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{512} << 20U;

Result<std::vector<std::byte>> read_bytes(const fs::path& path) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  return read_file(*file, kMaxFileBytes);
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::string> read_text(const fs::path& path) {
  const Result<std::vector<std::byte>> bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  return std::string(text_of(*bytes));
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Empty where there is no such file.
Result<std::string> read_text_if_there(const fs::path& path) {
  return is_there(path) ? read_text(path) : Result<std::string>(std::string());
}

template <typename T>
Result<T> naming(const fs::path& path, Result<T> result) {
  if (result || result.error().code == ErrorCode::kIo) return result;
  return Error{result.error().code, path.string() + ": " + result.error().message};
}

// The encodings that TikToken's files are known by (tiktoken_ext/openai_public.py).
struct KnownEncoding {
  std::string_view name;
  std::string_view pattern;
  std::vector<std::pair<std::string_view, TokenId>> special_tokens;
};

const std::vector<KnownEncoding>& known_encodings() {
  constexpr std::string_view kR50k =
      R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";
  constexpr std::string_view kCl100k =
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+)"
      R"(|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
  constexpr std::string_view kO200k =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::vector<KnownEncoding> kEncodings = {
      {"r50k_base", kR50k, {{"<|endoftext|>", 50256}}},
      {"p50k_base", kR50k, {{"<|endoftext|>", 50256}}},
      {"cl100k_base",
       kCl100k,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base", kO200k, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
  };
  return kEncodings;
}

Result<TikTokenOptions> tik_token_options(std::string_view name, const TokenizerOptions& options) {
  if (options.tik_token) return *options.tik_token;
  const auto& known = known_encodings();
  const auto found = std::find_if(known.begin(), known.end(), [&](const KnownEncoding& encoding) {
    return encoding.name == name;
  });
  if (found == known.end()) {
    return Error{ErrorCode::kContract,
                 "a TikToken file does not say how to split text, and '" + std::string(name) +
                     "' is no encoding that is known: give TokenizerOptions::tik_token"};
  }
  TikTokenOptions known_options;
  known_options.pattern = found->pattern;
  for (const auto& [token, id] : found->special_tokens)
    known_options.special_tokens.emplace(token, id);
  return known_options;
}

// What a file is, by its first bytes: JSON, lines of base64, or protobuf.
TokenizerFormat format_of(std::string_view content) {
  const std::size_t start = content.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && content[start] == '{')
    return TokenizerFormat::kTokenizerJson;
  const std::string_view line = content.substr(0, content.find('\n'));
  const bool printable = std::all_of(line.begin(), line.end(),
                                     [](char c) { return (c >= ' ' && c <= '~') || c == '\r'; });
  return printable && line.find(' ') != std::string_view::npos ? TokenizerFormat::kTikToken
                                                               : TokenizerFormat::kSentencePiece;
}

Error misplaced(const fs::path& path, std::string_view option, std::string_view place) {
  return {ErrorCode::kContract, path.string() + ": TokenizerOptions::" + std::string(option) +
                                    " is given, which is for " + std::string(place)};
}

Result<Stages> open_file(const fs::path& path, const TokenizerOptions& options) {
  const Result<std::vector<std::byte>> bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  const std::string_view content = text_of(*bytes);
  const TokenizerFormat format = format_of(content);
  if (options.target_language)
    return misplaced(path, "target_language", "Marian's and M2M100's tokenizers");
  if (format != TokenizerFormat::kTikToken) {
    if (options.tik_token) return misplaced(path, "tik_token", "a TikToken file");
    return naming(path, parse_tokenizer(format, content, options));
  }
  const Result<TikTokenOptions> tik_token = tik_token_options(path.stem().string(), options);
  if (!tik_token)
    return Error{tik_token.error().code, path.string() + ": " + tik_token.error().message};
  return naming(path, parse_tik_token(content, *tik_token));
}

Result<Stages> open_marian(const fs::path& folder, const TokenizerOptions& options) {
  if (options.tik_token) return misplaced(folder, "tik_token", "a TikToken file");
  MarianFiles files;
  Result<std::string> source = read_text(folder / "source.spm");
  if (!source) return source.error();
  files.decoder = *source;
  files.encoder = std::move(*source);
  if (options.target_language) {
    Result<std::string> target = read_text(folder / "target.spm");
    if (!target) return target.error();
    files.encoder = std::move(*target);
  }
  Result<std::string> vocabulary = read_text(folder / "vocab.json");
  if (!vocabulary) return vocabulary.error();
  files.vocabulary = std::move(*vocabulary);
  Result<std::string> config = read_text_if_there(folder / "tokenizer_config.json");
  if (!config) return config.error();
  files.config = std::move(*config);
  return naming(folder, parse_marian(files));
}

Result<Stages> open_m2m100(const fs::path& folder, const TokenizerOptions& options) {
  if (options.tik_token) return misplaced(folder, "tik_token", "a TikToken file");
  Result<std::string> model = read_text(folder / kNumberedModel);
  if (!model) return model.error();
  Result<std::string> vocabulary = read_text(folder / "vocab.json");
  if (!vocabulary) return vocabulary.error();
  Result<std::string> config = read_text_if_there(folder / "tokenizer_config.json");
  if (!config) return config.error();
  Result<std::string> special_tokens = read_text_if_there(folder / "special_tokens_map.json");
  if (!special_tokens) return special_tokens.error();
  return naming(folder, parse_m2m100({std::move(*model), std::move(*vocabulary), std::move(*config),
                                      std::move(*special_tokens), options.target_language}));
}

Result<Stages> open_folder(const fs::path& folder, const TokenizerOptions& options) {
  if (is_there(folder / "tokenizer.json")) return open_file(folder / "tokenizer.json", options);
  if (is_there(folder / "source.spm") && is_there(folder / "target.spm"))
    return open_marian(folder, options);
  if (is_there(folder / kNumberedModel) && is_there(folder / "vocab.json"))
    return open_m2m100(folder, options);
  for (const std::string_view name :
       {std::string_view("tokenizer.model"), std::string_view("spiece.model"), kNumberedModel,
        std::string_view("spm.model")}) {
    if (is_there(folder / name)) return open_file(folder / name, options);
  }
  for (const KnownEncoding& encoding : known_encodings()) {
    const fs::path path = folder / (std::string(encoding.name) + ".tiktoken");
    if (is_there(path)) return open_file(path, options);
  }
  return Error{
      ErrorCode::kIo,
      "'" + folder.string() +
          "' has no tokenizer.json, source.spm and target.spm, tokenizer.model, "
          "spiece.model, sentencepiece.bpe.model, spm.model, nor a known .tiktoken file "
          "(AutoTokenizer.from_pretrained(...).save_pretrained(...) of transformers writes "
          "tokenizer.json)"};
}

}  // namespace

Result<Stages> open_tokenizer(const fs::path& path, const TokenizerOptions& options) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? open_folder(path, options) : open_file(path, options);
}

Result<Stages> parse_tokenizer(TokenizerFormat format, std::string_view content,
                               const TokenizerOptions& options) {
  if (content.size() > kMaxFileBytes) {
    return Error{ErrorCode::kUnsupported, "a file has " + std::to_string(content.size()) +
                                              " bytes; the limit is " +
                                              std::to_string(kMaxFileBytes)};
  }
  switch (format) {
    case TokenizerFormat::kTokenizerJson:
      return parse_tokenizer_json(content);
    case TokenizerFormat::kSentencePiece: {
      Result<Stages> stages = parse_sentence_piece(content);
      if (!stages)
        return Error{stages.error().code, "as a SentencePiece model: " + stages.error().message};
      return stages;
    }
    case TokenizerFormat::kTikToken:
      break;
  }
  if (!options.tik_token) {
    return Error{
        ErrorCode::kContract,
        "a TikToken file does not say how to split text: give TokenizerOptions::tik_token"};
  }
  return parse_tik_token(content, *options.tik_token);
}

}  // namespace polystate::tokenizer
