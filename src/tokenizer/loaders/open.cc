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
#include "core/folder_files.h"
#include "polystate/core/named_files.h"
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

Result<std::string> read_named(const NamedFiles& files, std::string_view name) {
  return files.read(std::string(name), kMaxFileBytes);
}

// Empty where there is no such file.
Result<std::string> read_if_there(const NamedFiles& files, const std::string& name) {
  return files.has(name) ? read_named(files, name) : Result<std::string>(std::string());
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

// Of a file that has all there is to a tokenizer.
Result<Stages> parse_file(const fs::path& path, std::string_view content,
                          const TokenizerOptions& options) {
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

Result<Stages> open_one(const NamedFiles& files, const std::string& name,
                        const TokenizerOptions& options) {
  const Result<std::string> content = read_named(files, name);
  if (!content) return content.error();
  return parse_file(files.place() / name, *content, options);
}

Result<Stages> open_marian(const NamedFiles& files, const TokenizerOptions& options) {
  if (options.tik_token) return misplaced(files.place(), "tik_token", "a TikToken file");
  MarianFiles marian;
  Result<std::string> source = read_named(files, "source.spm");
  if (!source) return source.error();
  marian.decoder = *source;
  marian.encoder = std::move(*source);
  if (options.target_language) {
    Result<std::string> target = read_named(files, "target.spm");
    if (!target) return target.error();
    marian.encoder = std::move(*target);
  }
  Result<std::string> vocabulary = read_named(files, "vocab.json");
  if (!vocabulary) return vocabulary.error();
  marian.vocabulary = std::move(*vocabulary);
  Result<std::string> config = read_if_there(files, "tokenizer_config.json");
  if (!config) return config.error();
  marian.config = std::move(*config);
  return naming(files.place(), parse_marian(marian));
}

Result<Stages> open_m2m100(const NamedFiles& files, const TokenizerOptions& options) {
  if (options.tik_token) return misplaced(files.place(), "tik_token", "a TikToken file");
  Result<std::string> model = read_named(files, kNumberedModel);
  if (!model) return model.error();
  Result<std::string> vocabulary = read_named(files, "vocab.json");
  if (!vocabulary) return vocabulary.error();
  Result<std::string> config = read_if_there(files, "tokenizer_config.json");
  if (!config) return config.error();
  Result<std::string> special_tokens = read_if_there(files, "special_tokens_map.json");
  if (!special_tokens) return special_tokens.error();
  return naming(files.place(),
                parse_m2m100({std::move(*model), std::move(*vocabulary), std::move(*config),
                              std::move(*special_tokens), options.target_language}));
}

}  // namespace

Result<Stages> open_tokenizer(const NamedFiles& files, const TokenizerOptions& options) {
  if (files.has("tokenizer.json")) return open_one(files, "tokenizer.json", options);
  if (files.has("source.spm") && files.has("target.spm")) return open_marian(files, options);
  const std::string numbered(kNumberedModel);
  if (files.has(numbered) && files.has("vocab.json")) return open_m2m100(files, options);
  for (const std::string& name : {std::string("tokenizer.model"), std::string("spiece.model"),
                                  numbered, std::string("spm.model")}) {
    if (files.has(name)) return open_one(files, name, options);
  }
  for (const KnownEncoding& encoding : known_encodings()) {
    const std::string name = std::string(encoding.name) + ".tiktoken";
    if (files.has(name)) return open_one(files, name, options);
  }
  return Error{
      ErrorCode::kIo,
      "'" + files.place().string() +
          "' has no tokenizer.json, source.spm and target.spm, tokenizer.model, "
          "spiece.model, sentencepiece.bpe.model, spm.model, nor a known .tiktoken file "
          "(AutoTokenizer.from_pretrained(...).save_pretrained(...) of transformers writes "
          "tokenizer.json)"};
}

Result<Stages> open_tokenizer(const fs::path& path, const TokenizerOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return open_tokenizer(FolderFiles(path), options);
  const Result<std::string> content = read_text_file(path, kMaxFileBytes);
  if (!content) return content.error();
  return parse_file(path, *content, options);
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
