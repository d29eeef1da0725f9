#include "tokenizer/loaders/model_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/model_sinks.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/models/word_level.h"
#include "tokenizer/models/word_piece.h"
#include "tokenizer/normalizers/sentence_piece.h"

namespace polystate::tokenizer {
namespace {

Result<MergeTable> read_merges(const MergesSink& sink, const Vocabulary& vocabulary,
                               std::size_t prefix_size, MarkerBoundaries& boundaries) {
  MergeTable merges;
  merges.reserve(sink.size());
  std::string joined;
  // Ids mostly follow the order of the merges that make their tokens.
  const bool is_dense = vocabulary.size() == vocabulary.id_limit();
  TokenId expected = 0;
  for (std::size_t i = 0; i < sink.size(); ++i) {
    const std::string_view left = sink.left(i);
    const std::string_view right = sink.right(i);
    joined = left;
    joined += right.substr(std::min(prefix_size, right.size()));
    const auto left_id = vocabulary.find(left);
    const auto right_id = vocabulary.find(right);
    const auto joined_id = is_dense && vocabulary.token(expected) == joined
                               ? std::optional(expected)
                               : vocabulary.find(joined);
    if (!left_id || !right_id || !joined_id) {
      return Error{ErrorCode::kArtifact, "model.merges[" + std::to_string(i) + "]: '" +
                                             std::string(left) + "', '" + std::string(right) +
                                             "' or the two joined are not in the vocabulary"};
    }
    merges.add(*left_id, *right_id, {static_cast<std::uint32_t>(i), *joined_id});
    expected = *joined_id + 1;
    const bool left_marked = left.ends_with(kSpaceMarker);
    const bool right_marked = right.starts_with(kSpaceMarker);
    if (!left_marked && right_marked) boundaries.before = false;
    if (left_marked && !right_marked) boundaries.after = false;
  }
  return merges;
}

// Older files name no type: it is told by what the model has.
std::string model_type(const JsonCursor& json, const ModelSinks& sinks) {
  if (json.optional("type")) return json["type"].string();
  if (sinks.merges.is_there()) return "BPE";
  if (json.optional("unk_id")) return "Unigram";
  return json.optional("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

ModelRead read_bpe(const JsonCursor& json, const ModelSinks& sinks,
                   std::vector<std::string>& warnings) {
  ModelRead read;
  read.type = "BPE";
  if (const auto unknown = json.optional("unk_token")) read.bpe.unknown_token = unknown->string();
  read.bpe.continuing_subword_prefix = json.string("continuing_subword_prefix", "");
  read.bpe.end_of_word_suffix = json.string("end_of_word_suffix", "");
  read.bpe.fuse_unknown = json.boolean("fuse_unk", false);
  read.bpe.byte_fallback = json.boolean("byte_fallback", false);
  read.bpe.ignore_merges = json.boolean("ignore_merges", false);
  if (json.optional("dropout"))
    warnings.emplace_back("model.dropout has no effect: it is for training");

  const Vocabulary& vocabulary = sinks.vocabulary.vocabulary();
  read.boundaries = {true, true};
  Result<MergeTable> merges = read_merges(
      sinks.merges, vocabulary, read.bpe.continuing_subword_prefix.size(), read.boundaries);
  if (!merges) {
    json.fail(merges.error());
    return read;
  }
  read.merges = std::move(*merges);
  const bool plain =
      read.bpe.continuing_subword_prefix.empty() && read.bpe.end_of_word_suffix.empty();
  read.bytes_suit = plain && !read.bpe.byte_fallback && has_byte_alphabet(vocabulary);
  const bool known_marker = vocabulary.find(kSpaceMarker).has_value();
  const bool known_unknown = read.bpe.unknown_token && vocabulary.find(*read.bpe.unknown_token);
  if (!plain || !known_marker || !known_unknown || read.bpe.ignore_merges)
    read.boundaries = {false, false};
  return read;
}

template <typename T>
std::unique_ptr<const Model> checked(const JsonCursor& json, Result<std::unique_ptr<T>> model) {
  if (model) return std::move(*model);
  json.fail(model.error());
  return nullptr;
}

std::unique_ptr<const Model> make_unigram(const JsonCursor& json, VocabularySink& sink) {
  UnigramOptions options;
  if (const auto unknown = json.optional("unk_id")) options.unknown = unknown->id();
  options.byte_fallback = json.boolean("byte_fallback", false);
  std::vector<UnigramToken> tokens;
  double least = std::numeric_limits<double>::infinity();
  for (const double score : sink.scores()) {
    tokens.push_back({score});
    least = std::min(least, score);
  }
  options.unknown_score = least - 10;
  return checked(json, Unigram::create(sink.take_vocabulary(), std::move(tokens), options));
}

std::unique_ptr<const Model> make_word_piece(const JsonCursor& json, VocabularySink& sink) {
  WordPieceOptions options;
  options.unknown_token = json["unk_token"].string();
  options.continuing_subword_prefix = json["continuing_subword_prefix"].string();
  options.max_input_chars_per_word = json["max_input_chars_per_word"].size();
  return checked(json, WordPiece::create(sink.take_vocabulary(), std::move(options)));
}

}  // namespace

ModelRead read_model(const JsonCursor& json, const ModelSinks& sinks,
                     std::vector<std::string>& warnings) {
  const std::string type = model_type(json, sinks);
  if (type == "BPE") return read_bpe(json, sinks, warnings);
  ModelRead read;
  read.type = type;
  return read;
}

std::unique_ptr<const Model> make_model(const JsonCursor& json, ModelRead read, ModelSinks& sinks) {
  const bool has_scores = !sinks.vocabulary.scores().empty();
  if (has_scores != (read.type == "Unigram") && sinks.vocabulary.vocabulary().size() > 0) {
    json.fail("'vocab' has a form that a model of type '" + read.type + "' does not have");
    return nullptr;
  }
  if (read.type == "BPE") {
    return checked(json, Bpe::create(sinks.vocabulary.take_vocabulary(), std::move(read.merges),
                                     std::move(read.bpe)));
  }
  if (read.type == "Unigram") return make_unigram(json, sinks.vocabulary);
  if (read.type == "WordPiece") return make_word_piece(json, sinks.vocabulary);
  if (read.type == "WordLevel") {
    return std::make_unique<WordLevel>(sinks.vocabulary.take_vocabulary(),
                                       json["unk_token"].string());
  }
  json.fail("the model '" + read.type + "' is not known", ErrorCode::kUnsupported);
  return nullptr;
}

}  // namespace polystate::tokenizer
