#include "tokenizer/post_processors/truncation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/post_processors/direction.h"

namespace polystate::tokenizer {
namespace {

template <typename T>
std::vector<T> slice(const std::vector<T>& values, TextRange rows) {
  if (values.empty()) return {};
  return {values.begin() + rows.begin, values.begin() + rows.end};
}

Encoding slice(const Encoding& encoding, TextRange rows) {
  return {slice(encoding.ids, rows),
          slice(encoding.offsets, rows),
          slice(encoding.type_ids, rows),
          slice(encoding.special_tokens_mask, rows),
          slice(encoding.attention_mask, rows),
          {}};
}

// The rows of each part, the first one being what is kept.
std::vector<TextRange> parts_of(std::size_t size, std::size_t length, std::size_t stride,
                                Direction direction) {
  std::vector<TextRange> parts;
  const auto add = [&](std::size_t begin, std::size_t end) {
    parts.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  };
  const std::size_t step = length - stride;
  if (direction == Direction::kRight) {
    for (std::size_t begin = 0; begin < size; begin += step) {
      add(begin, std::min(begin + length, size));
      if (begin + length >= size) break;
    }
    return parts;
  }
  for (std::size_t end = size; end > 0; end -= std::min(end, step)) {
    add(end - std::min(end, length), end);
    if (end <= length) break;
  }
  return parts;
}

Status truncate_one(Encoding& encoding, std::size_t length, const Truncation& truncation) {
  if (length >= encoding.ids.size()) return {};
  if (length == 0) {
    Encoding empty;
    empty.overflowing.push_back(std::move(encoding));
    encoding = std::move(empty);
    return {};
  }
  if (truncation.stride >= length) {
    return Error{ErrorCode::kContract, "a text is truncated to " + std::to_string(length) +
                                           " tokens, which must be more than the stride of " +
                                           std::to_string(truncation.stride)};
  }
  const std::vector<TextRange> parts =
      parts_of(encoding.ids.size(), length, truncation.stride, truncation.direction);
  Encoding kept = slice(encoding, parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i)
    kept.overflowing.push_back(slice(encoding, parts[i]));
  encoding = std::move(kept);
  return {};
}

Status truncate_longest(const Truncation& truncation, std::size_t max_length, Encoding& first,
                        Encoding* second) {
  if (second == nullptr) return truncate_one(first, max_length, truncation);
  std::size_t shorter = std::min(first.ids.size(), second->ids.size());
  std::size_t longer = shorter > max_length ? shorter : std::max(shorter, max_length - shorter);
  if (shorter + longer > max_length) {
    shorter = max_length / 2;
    longer = shorter + max_length % 2;
  }
  if (first.ids.size() > second->ids.size()) std::swap(shorter, longer);
  if (const Status done = truncate_one(first, shorter, truncation); !done) return done;
  return truncate_one(*second, longer, truncation);
}

}  // namespace

Status truncate(const Truncation& truncation, std::size_t max_length, Encoding& first,
                Encoding* second) {
  if (max_length == 0) {
    if (const Status done = truncate_one(first, 0, truncation); !done || second == nullptr)
      return done;
    return truncate_one(*second, 0, truncation);
  }
  const std::size_t size = first.ids.size() + (second == nullptr ? 0 : second->ids.size());
  if (size <= max_length) return {};
  if (truncation.strategy == TruncationStrategy::kLongestFirst)
    return truncate_longest(truncation, max_length, first, second);
  const bool cut_first = truncation.strategy == TruncationStrategy::kOnlyFirst;
  Encoding* const cut = cut_first ? &first : second;
  if (cut == nullptr) {
    return Error{ErrorCode::kContract,
                 "the tokenizer truncates only the second text of a pair, and there is one text"};
  }
  const std::size_t excess = size - max_length;
  if (cut->ids.size() <= excess) {
    return Error{ErrorCode::kContract,
                 "the tokenizer truncates only the " + std::string(cut_first ? "first" : "second") +
                     " text, which has " + std::to_string(cut->ids.size()) + " tokens, but " +
                     std::to_string(excess) + " are too many"};
  }
  return truncate_one(*cut, cut->ids.size() - excess, truncation);
}

}  // namespace polystate::tokenizer
