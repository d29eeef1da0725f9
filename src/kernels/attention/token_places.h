#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace polystate {

// Where the tokens of a step go in a cache of pages.
struct TokenPlaces {
  std::span<const std::int64_t> page_table;  // [table_rows, row_pages]
  std::int64_t table_rows;
  std::int64_t row_pages;
  std::int64_t page;                        // positions of a page, at least 1
  std::span<const std::int64_t> positions;  // [tokens]
  std::span<const std::int64_t> rows;       // [tokens]
};

// Says which token has no place of its own in the pages of its row, the first one; nothing where
// all have one.
std::optional<std::string> misplaced(const TokenPlaces& places);

}  // namespace polystate
