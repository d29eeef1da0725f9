#include "tokenizer/loaders/sentence_piece_model.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/loaders/protobuf.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {
namespace {

using Field = ProtobufReader::Field;

Error damaged(const std::string& why) { return {ErrorCode::kArtifact, why}; }

// Calls read(field) -> Status for each field of a message.
template <typename Read>
Status for_each_field(std::string_view message, Read&& read) {
  ProtobufReader reader(message);
  while (true) {
    const Result<std::optional<Field>> field = reader.next();
    if (!field) return field.error();
    if (!*field) return {};
    if (const Status done = read(**field); !done) return done;
  }
}

Status read_piece(std::string_view message, SentencePieceModel::Piece& piece) {
  return for_each_field(message, [&](const Field& field) -> Status {
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2) piece.score = field.as_float();
    if (field.number != 3) return {};
    if (field.integer < 1 || field.integer > 6)
      return damaged("a piece has the type " + std::to_string(field.integer));
    piece.type = static_cast<SentencePieceModel::Type>(field.integer);
    return {};
  });
}

Status read_trainer_spec(std::string_view message, SentencePieceModel& model) {
  return for_each_field(message, [&](const Field& field) -> Status {
    if (field.number == 24) model.treat_whitespace_as_suffix = field.as_bool();
    if (field.number == 35) model.byte_fallback = field.as_bool();
    if (field.number == 44) model.unknown_surface = field.bytes.substr(0, field.bytes.find('\0'));
    if (field.number != 3) return {};
    if (field.integer < 1 || field.integer > 4)
      return damaged("the model has the type " + std::to_string(field.integer));
    model.algorithm = static_cast<SentencePieceModel::Algorithm>(field.integer);
    return {};
  });
}

Status read_normalizer_spec(std::string_view message, SentencePieceModel& model) {
  return for_each_field(message, [&](const Field& field) -> Status {
    if (field.number == 2) model.precompiled_charsmap = field.bytes;
    if (field.number == 3) model.add_dummy_prefix = field.as_bool();
    if (field.number == 4) model.remove_extra_whitespaces = field.as_bool();
    if (field.number == 5) model.escape_whitespaces = field.as_bool();
    return {};
  });
}

Status read_denormalizer_spec(std::string_view message) {
  return for_each_field(message, [](const Field& field) -> Status {
    if (field.number != 2 || field.bytes.empty()) return {};
    return Error{ErrorCode::kUnsupported, "the model has a denormalizer, which is not supported"};
  });
}

Status read_model(std::string_view content, SentencePieceModel& model) {
  return for_each_field(content, [&](const Field& field) -> Status {
    if (field.number <= 5 && !field.is_bytes)
      return damaged("field " + std::to_string(field.number) + " is not a message");
    switch (field.number) {
      case 1:
        if (model.pieces.size() > Vocabulary::kMaxId) {
          return damaged("there are more than " + std::to_string(Vocabulary::kMaxId) + " pieces");
        }
        return read_piece(field.bytes, model.pieces.emplace_back());
      case 2:
        return read_trainer_spec(field.bytes, model);
      case 3:
        return read_normalizer_spec(field.bytes, model);
      case 5:
        return read_denormalizer_spec(field.bytes);
      default:
        return {};
    }
  });
}

Status check_bytes(const SentencePieceModel& model) {
  std::array<bool, 256> found{};
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type != SentencePieceModel::Type::kByte) continue;
    const auto byte = byte_of_token(piece.text);
    if (!model.byte_fallback || !byte)
      return damaged("the byte piece '" + piece.text + "' is not expected");
    found[*byte] = true;
  }
  for (std::size_t byte = 0; model.byte_fallback && byte < found.size(); ++byte) {
    if (!found[byte])
      return damaged("the piece '" + byte_token(static_cast<unsigned char>(byte)) + "' is missing");
  }
  return {};
}

Status check_pieces(SentencePieceModel& model) {
  std::array<std::unordered_set<std::string_view>, 2> seen;
  std::optional<std::size_t> unknown;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePieceModel::Piece& piece = model.pieces[i];
    const std::string name = "piece " + std::to_string(i);
    if (piece.text.empty()) return damaged(name + " is empty");
    if (!is_utf8(piece.text)) return damaged(name + " is not valid UTF-8");
    if (std::isnan(piece.score)) return damaged(name + " has a score that is not a number");
    if (!seen[SentencePieceModel::is_text(piece.type) ? 1 : 0].insert(piece.text).second)
      return damaged(name + ", '" + piece.text + "', is there twice");
    if (piece.type != SentencePieceModel::Type::kUnknown) continue;
    if (unknown) return damaged(name + " is a second unknown piece");
    unknown = i;
  }
  if (!unknown) return damaged("there is no unknown piece");
  if (!is_utf8(model.unknown_surface)) return damaged("the unknown surface is not valid UTF-8");
  model.unknown = *unknown;
  return check_bytes(model);
}

}  // namespace

std::vector<std::string_view> SentencePieceModel::user_symbols() const {
  std::vector<std::string_view> symbols;
  for (const Piece& piece : pieces) {
    if (piece.type == Type::kUserDefined) symbols.push_back(piece.text);
  }
  return symbols;
}

Result<SentencePieceModel> SentencePieceModel::parse(std::string_view content) {
  SentencePieceModel model;
  if (const Status read = read_model(content, model); !read) return read.error();
  if (const Status checked = check_pieces(model); !checked) return checked.error();
  return model;
}

}  // namespace polystate::tokenizer
