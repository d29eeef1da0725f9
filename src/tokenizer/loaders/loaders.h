#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/stages.h"

// Readers of files, each of which gives the parts of a pipeline. Errors as Tokenizer::open.
namespace polystate::tokenizer {

Result<Stages> open_tokenizer(const std::filesystem::path& path, const TokenizerOptions& options);
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

}  // namespace polystate::tokenizer
