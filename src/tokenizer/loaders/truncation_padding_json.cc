#include <cstdint>
#include <string>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
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
    json.fail("the direction '" + name + "' is not known", ErrorCode::kUnsupported);
  return Direction::kRight;
}

}  // namespace

Truncation read_truncation(const JsonCursor& json) {
  Truncation truncation;
  truncation.max_length = json["max_length"].size();
  truncation.stride = json["stride"].size();
  if (const auto direction = json.optional("direction"))
    truncation.direction = read_direction(*direction);
  const std::string strategy = json["strategy"].string();
  if (strategy == "OnlyFirst") {
    truncation.strategy = TruncationStrategy::kOnlyFirst;
  } else if (strategy == "OnlySecond") {
    truncation.strategy = TruncationStrategy::kOnlySecond;
  } else if (strategy != "LongestFirst") {
    json.fail("the strategy '" + strategy + "' is not known", ErrorCode::kUnsupported);
  }
  return truncation;
}

Padding read_padding(const JsonCursor& json) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24U;
  Padding padding;
  const JsonCursor strategy = json["strategy"];
  if (strategy.is_object()) {
    padding.fixed_length = strategy["Fixed"].size();
  } else if (strategy.string() != "BatchLongest") {
    strategy.fail("it is neither 'BatchLongest' nor 'Fixed'", ErrorCode::kUnsupported);
  }
  padding.direction = read_direction(json["direction"]);
  padding.multiple_of = json.size("pad_to_multiple_of", 1);
  padding.id = json["pad_id"].id();
  padding.type_id = json["pad_type_id"].id();
  if (padding.fixed_length.value_or(0) > kMost || padding.multiple_of > kMost)
    json.fail("a length is over " + std::to_string(kMost));
  return padding;
}

}  // namespace polystate::tokenizer
