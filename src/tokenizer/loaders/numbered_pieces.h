#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/json.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/stages.h"

// What the tokenizers that `transformers` writes in Python over SentencePiece have in common: a
// vocab.json numbers the pieces, and special tokens are found in a text before anything is done to
// it.
namespace polystate::tokenizer {

// What tokenizer_config.json says to all of them.
struct NumberedPiecesConfig {
  std::map<std::string, std::string, std::less<>> roles;  // "unk_token": "<unk>"
  std::vector<std::string> special;                       // those, and the additional ones
  std::vector<std::string> warnings;

  [[nodiscard]] const std::string& unknown() const { return roles.at("unk_token"); }
  [[nodiscard]] const std::string& end() const { return roles.at("eos_token"); }
};
// `defaults`: the roles of the class, "unk_token" and "eos_token" among them. Errors go to the
// cursor's status.
NumberedPiecesConfig read_config(const JsonCursor& root,
                                 std::map<std::string, std::string, std::less<>> defaults);

// vocab.json. kArtifact when it is none.
Result<Vocabulary> read_vocabulary(std::string_view content);

struct SpecialIds {
  TokenId unknown;
  TokenId end;
};
// kArtifact when the vocabulary lacks one.
Result<SpecialIds> find_special_ids(const NumberedPiecesConfig& config,
                                    const Vocabulary& vocabulary);

// The stages by which texts become ids, but for the post-processor.
Result<Stages> encoding_stages(const SentencePieceModel& model, const SpecialIds& special,
                               const NumberedPiecesConfig& config, Vocabulary vocabulary);

// Adds those by which ids become text: pieces are decoded by runs between special tokens, and what
// comes of them is stripped of white space.
struct NumberedPiecesDecoding {
  std::string_view after_special;  // what follows the text of a special token
  bool replaces_markers;           // in text that is no piece of the model, too
};
void add_decoding(const SentencePieceModel& model, const NumberedPiecesConfig& config,
                  const NumberedPiecesDecoding& decoding, Stages& stages);

}  // namespace polystate::tokenizer
