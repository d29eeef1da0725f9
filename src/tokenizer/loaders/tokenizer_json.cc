#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decoders/simple.h"
#include "tokenizer/loaders/json.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/models/word_level.h"
#include "tokenizer/models/word_piece.h"
#include "tokenizer/normalizers/sentence_piece.h"
#include "tokenizer/post_processors/encoding_edit.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/simple.h"
#include "tokenizer/stages.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {
namespace {

// Reads model.vocab: {"token": id, ...} or [["token", score], ...].
class VocabularySink : public JsonSink {
 public:
  bool key(const std::string& key) override {
    token_ = key;
    return true;
  }
  bool string(const std::string& value) override {
    if (!in_pair_) return false;
    token_ = value;
    return true;
  }
  bool number(double value) override {
    if (in_pair_) {
      scores_.push_back(value);
      return add(token_, scores_.size() - 1);
    }
    const double whole = std::floor(value);
    return whole == value && value >= 0 && value <= Vocabulary::kMaxId && add(token_, whole);
  }
  bool begin_array() override { return !std::exchange(in_pair_, true); }
  bool end_array() override {
    in_pair_ = false;
    return true;
  }

  Vocabulary take_vocabulary() { return std::move(vocabulary_); }
  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  // Of the second form, by id.
  [[nodiscard]] const std::vector<double>& scores() const { return scores_; }

 private:
  bool add(const std::string& token, double id) {
    return vocabulary_.add(token, static_cast<TokenId>(id)).has_value();
  }

  std::string token_;
  bool in_pair_ = false;
  Vocabulary vocabulary_;
  std::vector<double> scores_;
};

// Reads model.merges: ["a b", ...] or [["a", "b"], ...].
class MergesSink : public JsonSink {
 public:
  bool key(const std::string&) override { return false; }
  bool number(double) override { return false; }
  bool string(const std::string& value) override {
    if (in_pair_) {
      put(value);
      return ++parts_in_pair_ <= 2;
    }
    if (value.starts_with("#version")) return true;
    const std::size_t space = value.find(' ');
    if (space == std::string::npos || value.find(' ', space + 1) != std::string::npos) return false;
    put(std::string_view(value).substr(0, space));
    put(std::string_view(value).substr(space + 1));
    return true;
  }
  bool begin_array() override {
    parts_in_pair_ = 0;
    return !std::exchange(in_pair_, true);
  }
  bool end_array() override { return std::exchange(in_pair_, false) && parts_in_pair_ == 2; }

  [[nodiscard]] std::size_t size() const { return ends_.size() / 2; }
  [[nodiscard]] std::string_view left(std::size_t i) const { return part(2 * i); }
  [[nodiscard]] std::string_view right(std::size_t i) const { return part(2 * i + 1); }

 private:
  void put(std::string_view part) {
    bytes_ += part;
    ends_.push_back(bytes_.size());
  }
  [[nodiscard]] std::string_view part(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

  std::string bytes_;
  std::vector<std::size_t> ends_;
  bool in_pair_ = false;
  int parts_in_pair_ = 0;
};

struct Sinks {
  VocabularySink vocabulary;
  MergesSink merges;
};

// Whether no merge joins something that ends with the marker to something that does not start with
// it, or the other way round.
struct MarkerBoundaries {
  bool before = true;  // pieces may be cut before markers
  bool after = true;
};

Result<MergeTable> read_merges(const MergesSink& sink, const Vocabulary& vocabulary,
                               std::size_t prefix_size, MarkerBoundaries& boundaries) {
  MergeTable merges;
  merges.reserve(sink.size());
  std::string joined;
  for (std::size_t i = 0; i < sink.size(); ++i) {
    const std::string_view left = sink.left(i);
    const std::string_view right = sink.right(i);
    joined = left;
    joined += right.substr(std::min(prefix_size, right.size()));
    const auto left_id = vocabulary.find(left);
    const auto right_id = vocabulary.find(right);
    const auto joined_id = vocabulary.find(joined);
    if (!left_id || !right_id || !joined_id) {
      return Error{ErrorCode::kArtifact, "model.merges[" + std::to_string(i) + "]: '" +
                                             std::string(left) + "', '" + std::string(right) +
                                             "' or the two joined are not in the vocabulary"};
    }
    merges.add(*left_id, *right_id, {static_cast<std::uint32_t>(i), *joined_id});
    const bool left_marked = left.ends_with(kSpaceMarker);
    const bool right_marked = right.starts_with(kSpaceMarker);
    if (!left_marked && right_marked) boundaries.before = false;
    if (left_marked && !right_marked) boundaries.after = false;
  }
  return merges;
}

// What is known of a model while the other parts are read.
struct ModelRead {
  std::string type;
  bool bytes_suit = false;  // byte pair encoding over the whole byte alphabet
  MarkerBoundaries boundaries{false, false};
  MergeTable merges;
  BpeOptions bpe;
};

std::string model_type(const JsonCursor& json) {
  if (json.optional("type")) return json.string("type");
  if (json.optional("merges")) return "BPE";
  if (json.optional("unk_id")) return "Unigram";
  return json.optional("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

ModelRead read_bpe(const JsonCursor& json, const Sinks& sinks, std::vector<std::string>& warnings) {
  ModelRead read;
  read.type = "BPE";
  const auto text = [&](std::string_view key) {
    const auto found = json.optional(key);
    return found ? found->string() : std::string();
  };
  if (json.optional("unk_token")) read.bpe.unknown_token = text("unk_token");
  read.bpe.continuing_subword_prefix = text("continuing_subword_prefix");
  read.bpe.end_of_word_suffix = text("end_of_word_suffix");
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
    json.fail(merges.error().code, merges.error().message);
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
  json.fail(model.error().code, model.error().message);
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
  options.unknown_token = json.string("unk_token");
  options.continuing_subword_prefix = json.string("continuing_subword_prefix");
  options.max_input_chars_per_word = json.field("max_input_chars_per_word").size();
  return checked(json, WordPiece::create(sink.take_vocabulary(), std::move(options)));
}

std::unique_ptr<const Model> make_model(const JsonCursor& json, ModelRead read, Sinks& sinks) {
  const bool has_scores = !sinks.vocabulary.scores().empty();
  if (has_scores != (read.type == "Unigram") && sinks.vocabulary.vocabulary().size() > 0) {
    json.fail(ErrorCode::kArtifact,
              "'vocab' has a form that a model of type '" + read.type + "' does not have");
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
                                       json.string("unk_token"));
  }
  json.fail(ErrorCode::kUnsupported, "the model '" + read.type + "' is not known");
  return nullptr;
}

void read_pre_tokenizers(const JsonCursor& json, ModelRead& model, Stages& stages) {
  if (const auto found = json.optional("pre_tokenizer")) {
    PreTokenizerRead read = read_pre_tokenizer(*found, model.bytes_suit);
    stages.pre_tokenizer = std::move(read.pre_tokenizer);
    if (read.gives_bytes) model.bpe.unit = BpeUnit::kAlphabetByte;
  } else if (model.boundaries.before || model.boundaries.after) {
    stages.pre_tokenizer =
        std::make_unique<MarkerSplit>(std::string(kSpaceMarker), !model.boundaries.before);
  }
}

void read_decoding(const JsonCursor& json, Stages& stages) {
  const auto found = json.optional("decoder");
  if (!found) {
    stages.decoders.push_back(std::make_unique<JoinDecoder>());
    return;
  }
  DecodersRead read = read_decoders(*found);
  stages.decoders = std::move(read.decoders);
  if (!read.takes_bytes) return;
  stages.decoded_token = [](TokenId, std::string_view token) {
    std::string bytes;
    return append_alphabet_bytes(token, bytes) ? bytes : std::string(token);
  };
}

Stages read_stages(const JsonCursor& json, Sinks& sinks) {
  Stages stages;
  if (json.optional("version") && json.string("version") != "1.0") {
    json.fail(ErrorCode::kUnsupported, "the version '" + json.string("version") + "' is not known");
  }
  const JsonCursor model = json.field("model");
  ModelRead read;
  read.type = model_type(model);
  if (read.type == "BPE") read = read_bpe(model, sinks, stages.warnings);
  if (const auto found = json.optional("normalizer")) stages.normalizer = read_normalizer(*found);
  read_pre_tokenizers(json, read, stages);
  if (const auto found = json.optional("post_processor"))
    stages.post_processor = read_post_processor(*found);
  read_decoding(json, stages);
  if (const auto found = json.optional("truncation")) stages.truncation = read_truncation(*found);
  if (const auto found = json.optional("padding")) stages.padding = read_padding(*found);
  if (const auto found = json.optional("added_tokens"))
    stages.added_tokens = read_added_tokens(*found);
  if (json.ok()) stages.model = make_model(model, std::move(read), sinks);
  return stages;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonCursor& json) {
  std::vector<AddedToken> tokens;
  for (const JsonCursor& element : json.elements()) {
    AddedToken token;
    token.content = element.string("content");
    token.single_word = element.boolean("single_word");
    token.lstrip = element.boolean("lstrip");
    token.rstrip = element.boolean("rstrip");
    token.normalized = element.boolean("normalized");
    token.special = element.boolean("special");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Truncation read_truncation(const JsonCursor& json) {
  Truncation truncation;
  truncation.max_length = json.field("max_length").size();
  truncation.stride = json.field("stride").size();
  if (json.optional("direction") && json.string("direction") == "Left")
    truncation.direction = Direction::kLeft;
  const std::string strategy = json.string("strategy");
  if (strategy == "OnlyFirst") {
    truncation.strategy = TruncationStrategy::kOnlyFirst;
  } else if (strategy == "OnlySecond") {
    truncation.strategy = TruncationStrategy::kOnlySecond;
  } else if (strategy != "LongestFirst") {
    json.fail(ErrorCode::kUnsupported, "the strategy '" + strategy + "' is not known");
  }
  return truncation;
}

Padding read_padding(const JsonCursor& json) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
  Padding padding;
  const JsonCursor strategy = json.field("strategy");
  if (strategy.is_object()) {
    padding.fixed_length = strategy.field("Fixed").size();
  } else if (strategy.string() != "BatchLongest") {
    strategy.fail(ErrorCode::kUnsupported, "it is neither 'BatchLongest' nor 'Fixed'");
  }
  if (json.string("direction") == "Left") padding.direction = Direction::kLeft;
  padding.multiple_of = json.size("pad_to_multiple_of", 1);
  padding.id = json.field("pad_id").id();
  padding.type_id = json.field("pad_type_id").id();
  if (padding.fixed_length.value_or(0) > kMost || padding.multiple_of > kMost)
    json.fail(ErrorCode::kArtifact, "a length is over " + std::to_string(kMost));
  return padding;
}

Result<Stages> parse_tokenizer_json(std::string_view content) {
  Sinks sinks;
  const Result<JsonValue> json = parse_json(
      content, {{"model", "vocab", &sinks.vocabulary}, {"model", "merges", &sinks.merges}});
  if (!json) return json.error();
  Status status;
  const JsonCursor root(*json, "", status);
  if (!root.is_object()) return Error{ErrorCode::kArtifact, "it is not a JSON object"};
  Stages stages = read_stages(root, sinks);
  if (!status) return status.error();
  return stages;
}

}  // namespace polystate::tokenizer
