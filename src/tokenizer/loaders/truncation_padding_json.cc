#include <cstdint>
#include <string>

#include "polystate/core/result.h"
#include "tokenizer/loaders/json.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/post_processors/direction.h"
#include "tokenizer/post_processors/padding.h"
#include "tokenizer/post_processors/truncation.h"

namespace polystate::tokenizer {

namespace {

Direction read_direction(const JsonCursor& json) {
  const std::string name = json.string();
  if (name == "Left") return Direction::kLeft;
  if (name != "Right")
    json.fail(ErrorCode::kUnsupported, "the direction '" + name + "' is not known");
  return Direction::kRight;
}

}  // namespace

Truncation read_truncation(const JsonCursor& json) {
  Truncation truncation;
  truncation.max_length = json.field("max_length").size();
  truncation.stride = json.field("stride").size();
  if (const auto direction = json.optional("direction"))
    truncation.direction = read_direction(*direction);
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
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24U;
  Padding padding;
  const JsonCursor strategy = json.field("strategy");
  if (strategy.is_object()) {
    padding.fixed_length = strategy.field("Fixed").size();
  } else if (strategy.string() != "BatchLongest") {
    strategy.fail(ErrorCode::kUnsupported, "it is neither 'BatchLongest' nor 'Fixed'");
  }
  padding.direction = read_direction(json.field("direction"));
  padding.multiple_of = json.size("pad_to_multiple_of", 1);
  padding.id = json.field("pad_id").id();
  padding.type_id = json.field("pad_type_id").id();
  if (padding.fixed_length.value_or(0) > kMost || padding.multiple_of > kMost)
    json.fail(ErrorCode::kArtifact, "a length is over " + std::to_string(kMost));
  return padding;
}

}  // namespace polystate::tokenizer
