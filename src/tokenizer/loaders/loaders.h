#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/json.h"
#include "polystate/core/named_files.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/stages.h"

// Readers of files, each of which gives the parts of a pipeline. Errors as Tokenizer::open.
namespace polystate::tokenizer {

// Of a file of JSON, which Python wrote: transformers' VERY_LARGE_INTEGER is among its numbers.
inline constexpr JsonLimits kFileLimits = {
    .max_depth = 64, .names_may_repeat = true, .rounds_large_integers = true};

Result<Stages> open_tokenizer(const std::filesystem::path& path, const TokenizerOptions& options);
Result<Stages> open_tokenizer(const NamedFiles& files, const TokenizerOptions& options);
Result<Stages> parse_tokenizer(TokenizerFormat format, std::string_view content,
                               const TokenizerOptions& options);

Result<Stages> parse_tokenizer_json(std::string_view content);
Result<Stages> parse_sentence_piece(std::string_view content);
Result<Stages> parse_tik_token(std::string_view content, const TikTokenOptions& options);
// Marian's pair: the model of the language to encode, that of the language to decode, the
// vocabulary that both share, and tokenizer_config.json (empty where there is none).
struct MarianFiles {
  std::string encoder;
  std::string decoder;
  std::string vocabulary;
  std::string config;
};
Result<Stages> parse_marian(const MarianFiles& files);
// M2M100's: the SentencePiece model, vocab.json, tokenizer_config.json and special_tokens_map.json
// (the last two empty where there are none); `target`: texts to encode are in the target language.
struct M2M100Files {
  std::string model;
  std::string vocabulary;
  std::string config;
  std::string special_tokens;
  bool target = false;
};
Result<Stages> parse_m2m100(const M2M100Files& files);

}  // namespace polystate::tokenizer
