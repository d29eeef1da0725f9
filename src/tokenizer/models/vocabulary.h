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
  static constexpr TokenId kMaxId = (TokenId{1} << 22U) - 1;

  // Makes room. For no more tokens than there can be.
  void reserve(std::size_t tokens, std::size_t bytes);
  // A token that is there already gets the new id; both ids are the token's. kArtifact when the id
  // is over kMaxId.
  Status add(std::string_view token, TokenId id);

  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;
  // The last token that was added with the id.
  [[nodiscard]] std::optional<std::string_view> token(TokenId id) const;
  // The number of tokens.
  [[nodiscard]] std::size_t size() const { return size_; }
  // One more than the largest id.
  [[nodiscard]] std::size_t id_limit() const { return by_id_.size(); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Where a token is in the buffer; begin is kNone where there is none.
  struct Place {
    std::uint32_t begin = kNone;
    std::uint32_t size = 0;
  };
  struct Slot {
    Place place;
    std::uint32_t hash = 0;
    TokenId id = 0;
  };

  [[nodiscard]] std::string_view token_at(Place place) const {
    return std::string_view(bytes_).substr(place.begin, place.size);
  }
  // The slot that holds the token, or the free one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view token, std::uint32_t hash) const;
  void grow(std::size_t slots);

  std::string bytes_;
  std::size_t size_ = 0;
  std::vector<Slot> slots_;  // open addressing; a power of two, at most half full
  std::vector<Place> by_id_;
};

}  // namespace polystate::tokenizer
