#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

// Tokens and their ids, both ways. Tokens are bytes, all kept in one buffer.
class Vocabulary {
 public:
  // Larger ones are refused, so that a damaged file cannot ask for any amount of memory.
  static constexpr TokenId kMaxId = (TokenId{1} << 24U) - 1;

  // Makes room. For no more tokens than there can be.
  void reserve(std::size_t tokens, std::size_t bytes);
  // A token that is there already gets the new id. kArtifact when the id is over kMaxId.
  Status add(std::string_view token, TokenId id);

  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;
  // The last token that was added with the id.
  [[nodiscard]] std::optional<std::string_view> token(TokenId id) const;
  // The number of tokens.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // One more than the largest id.
  [[nodiscard]] std::size_t id_limit() const { return entry_of_id_.size(); }

 private:
  struct Entry {
    std::uint32_t begin;
    std::uint32_t size;
    TokenId id;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;  // one more than the index; 0: free
  };

  [[nodiscard]] std::string_view token_of(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.begin, entry.size);
  }
  // The slot that holds the token, or the free one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view token, std::uint32_t hash) const;
  void grow(std::size_t slots);

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;                 // open addressing; a power of two, at most half full
  std::vector<std::uint32_t> entry_of_id_;  // one more than the index; 0: no token
};

}  // namespace polystate::tokenizer
