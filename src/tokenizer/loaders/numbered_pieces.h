#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/sentence_piece_model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/stages.h"

// What the tokenizers that `transformers` writes in Python over SentencePiece have in common: a
// vocab.json numbers the pieces, and special tokens are found in a text before anything is done to
// it.
namespace polystate::tokenizer {

// By what they are for: "unk_token": "<unk>".
using TokenRoles = std::map<std::string, std::string, std::less<>>;

// What tokenizer_config.json says to all of them.
struct NumberedPiecesConfig {
  TokenRoles roles;  // "unk_token" and "eos_token" among them
  std::vector<std::string> additional;
  std::vector<std::string> warnings;

  [[nodiscard]] const std::string& unknown() const { return roles.at("unk_token"); }
  [[nodiscard]] const std::string& end() const { return roles.at("eos_token"); }
  // Every special token; some may come more than once.
  [[nodiscard]] std::vector<std::string> special() const;
};
// `defaults`: the roles that the class has where nothing is said. Errors go to the cursor's status;
// kUnsupported for what would change ids and is not done.
NumberedPiecesConfig read_config(const JsonCursor& root, TokenRoles defaults);

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

// How the tokenizers differ when ids become text.
struct NumberedPiecesDecoding {
  std::string_view after_special;  // what follows the text of a special token
  bool replaces_markers;           // whether a literal space marker becomes a space
};
// Adds the stages by which ids become text: pieces are decoded by runs between special tokens, and
// what comes of them is stripped of white space.
void add_decoding(const SentencePieceModel& model, const NumberedPiecesConfig& config,
                  const NumberedPiecesDecoding& decoding, Stages& stages);

}  // namespace polystate::tokenizer
