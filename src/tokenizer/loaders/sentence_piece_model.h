#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

// What a SentencePiece .model holds, as far as it is used (sentencepiece_model.proto).
struct SentencePieceModel {
  enum class Type : std::uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
  };
  // Whether pieces of the type are found in texts, rather than known by their ids alone.
  static bool is_text(Type type) {
    return type == Type::kNormal || type == Type::kUserDefined || type == Type::kUnused;
  }
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::kNormal;
  };
  enum class Algorithm : std::uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

  std::vector<Piece> pieces;
  std::size_t unknown = 0;  // the piece of type kUnknown
  Algorithm algorithm = Algorithm::kUnigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string unknown_surface = " \xE2\x81\x87 ";  // what the unknown piece is decoded to
  std::string precompiled_charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  [[nodiscard]] std::vector<std::string_view> user_symbols() const;

  // Reads and checks a file's content. kArtifact when it is damaged; kUnsupported when it has a
  // denormalizer.
  static Result<SentencePieceModel> parse(std::string_view content);
};

}  // namespace polystate::tokenizer
