#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/check_failure.h"
#include "kernels/requirements.h"

namespace polystate {

// Where the tokens of a step go in a cache of pages.
struct TokenPlaces {
  NamedTensor page_table;  // [rows, n]
  NamedTensor positions;   // [tokens]
  NamedTensor rows;        // [tokens]
  std::int64_t page;       // positions of a page

  [[nodiscard]] std::int64_t count() const { return rows.tensor.element_count(); }
  [[nodiscard]] std::int64_t row_pages() const { return page_table.tensor.size(1); }
  [[nodiscard]] std::int64_t row(std::int64_t token) const {
    return integers_of(rows.tensor)[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] std::int64_t position(std::int64_t token) const {
    return integers_of(positions.tensor)[static_cast<std::size_t>(token)];
  }
  // The pages of a token's row.
  [[nodiscard]] const std::int64_t* pages_of(std::int64_t token) const {
    return integers_of(page_table.tensor).data() + row(token) * row_pages();
  }

  // Types and shapes.
  void require(Requirements& require) const;

  // Says which token has no place of its own in the pages of its row, the first one; nothing where
  // all have one.
  [[nodiscard]] std::optional<std::string> misplaced() const;
};

// The failure of check `id`, that every token has a place of its own.
std::optional<CheckFailure> check_places(const TokenPlaces& places, std::int64_t id);

}  // namespace polystate
