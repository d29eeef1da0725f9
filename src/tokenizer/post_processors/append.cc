#include "tokenizer/post_processors/append.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {
namespace {

template <typename T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_rows(Encoding& encoding, const Encoding& other) {
  append_all(encoding.ids, other.ids);
  append_all(encoding.offsets, other.offsets);
  append_all(encoding.type_ids, other.type_ids);
  append_all(encoding.special_tokens_mask, other.special_tokens_mask);
  append_all(encoding.attention_mask, other.attention_mask);
}

Encoding with_appended(const Encoding& encoding, const Encoding& other) {
  Encoding both = encoding;
  append_encoding(both, other);
  return both;
}

}  // namespace

void append_encoding(Encoding& encoding, const Encoding& other) {
  std::vector<Encoding> overflowing;
  for (const Encoding& part : encoding.overflowing) {
    overflowing.push_back(with_appended(part, other));
    for (const Encoding& other_part : other.overflowing)
      overflowing.push_back(with_appended(part, other_part));
  }
  for (const Encoding& other_part : other.overflowing)
    overflowing.push_back(with_appended(encoding, other_part));
  append_rows(encoding, other);
  encoding.overflowing = std::move(overflowing);
}

void append_special_token(Encoding& encoding, TokenId id, std::uint32_t type_id, bool offsets) {
  encoding.ids.push_back(id);
  if (offsets) encoding.offsets.push_back({});
  encoding.type_ids.push_back(type_id);
  encoding.special_tokens_mask.push_back(1);
  encoding.attention_mask.push_back(1);
}

}  // namespace polystate::tokenizer
