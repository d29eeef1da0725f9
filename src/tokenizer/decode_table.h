#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {

// What decoders are given for each id. It owns the texts.
class DecodeTable {
 public:
  DecodeTable(const Stages& stages, const AddedVocabulary& added);

  struct Entry {
    std::size_t begin = 0;
    std::uint32_t size = 0;
    bool special = false;  // left out when special tokens are
  };
  // Null where the id is not in the vocabulary.
  [[nodiscard]] const Entry* find(TokenId id) const {
    return id < entries_.size() && entries_[id].begin != kNone ? &entries_[id] : nullptr;
  }
  [[nodiscard]] std::string_view text(const Entry& entry) const {
    return std::string_view(texts_).substr(entry.begin, entry.size);
  }
  // One more than the largest id.
  [[nodiscard]] std::size_t id_limit() const { return entries_.size(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::string texts_;
  std::vector<Entry> entries_;  // by id
};

}  // namespace polystate::tokenizer
